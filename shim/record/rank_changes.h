/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What the process says of its rank after Hello (shim/base/process_rank.h) into the define log,
 * which the collector gets whole on every connection and reads when the process has died, and to
 * the gate, which --ranks opens. The thread that has looked, the shim's thread, and at the end the
 * thread that ends the process.
 */
struct recorder;

/* Takes down what has changed; nothing while another thread is at it. */
void rank_changes_run(struct recorder *recorder);
/* The same, by the thread that ends the process: waits but a moment. */
void rank_changes_end(struct recorder *recorder);
/* In a child of fork(), whose other threads are gone. */
void rank_changes_forget(void);

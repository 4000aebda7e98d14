/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Passes on changes of the process's rank after Hello (shim/base/process/process_rank.h): into the
 * define log, which the collector receives whole on every connection and reads after the process
 * has died, and to the gate, which --ranks opens. Called by the thread that noticed a change, by
 * the shim thread, and at the end by the thread that ends the process.
 */
#include <stdint.h>

struct recorder;

/* Records what has changed; does nothing while another thread does so. */
void rank_changes_run(struct recorder *recorder);
/*
 * The same for the thread that ends the process: waits for another thread, at most until @until_ns
 * of CLOCK_MONOTONIC, because what has changed since that thread looked is recorded now or never.
 */
void rank_changes_end(struct recorder *recorder, uint64_t until_ns);
/* For a child of fork(), which has no other threads. */
void rank_changes_forget(void);

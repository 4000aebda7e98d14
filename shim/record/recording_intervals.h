/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * When the process recorded and when not: the gate's changes into the define log, which the
 * collector gets whole on every connection and reads when the process has died. The shim's thread, and
 * at the end whoever ends the process: it may not live to see that thread get a processor.
 */
#include <stdbool.h>

struct recorder;

/* Takes down what has changed; true: something has. Also keeps the counters about it. While another
 * thread is at it: nothing, false. */
bool recording_run(struct recorder *recorder);
/* The same, by who ends the process: waits for nobody but a moment. */
void recording_end(struct recorder *recorder);
/* In a child of fork(), whose other threads are gone. */
void recording_forget(void);

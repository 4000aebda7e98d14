/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Writes the times when the process recorded to the define log, from the changes of the gate. The
 * collector receives that log whole on every connection, and reads it after the process has died.
 * Called by the shim thread, and at the end by the thread that ends the process, since the shim
 * thread may not run again before.
 */
#include <stdbool.h>

struct recorder;

/*
 * Writes the changes so far, and updates their counters; true if there was one. Does nothing and
 * returns false while another thread is doing so.
 */
bool recording_run(struct recorder *recorder);
/*
 * The same for the thread that ends the process. Returns false if another thread, which may have no
 * processor, is doing so or still makes a change: the caller tries again while it has time. Waits
 * some ms for the log; a change that cannot be appended by then is counted as left out.
 */
bool recording_end(struct recorder *recorder);
/* For a child of fork(), which has no other threads. */
void recording_forget(void);

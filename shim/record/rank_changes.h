/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Passes on changes of the process's rank after Hello (shim/base/process/process_rank.h): into the
 * define log, which the collector receives whole on every connection and reads after the process
 * has died, and to the gate, which --ranks opens. Called by the thread that noticed a change, by
 * the shim thread, and at the end by the thread that ends the process.
 */
#include <stdbool.h>

struct recorder;

/*
 * Called for a new recorder. Its Hello has the rank, so a change that an earlier recorder did not
 * get is not recorded again.
 */
void rank_changes_begin(void);
/* Records what has changed; does nothing while another thread does so. */
void rank_changes_run(struct recorder *recorder);
/*
 * The same for the thread that ends the process, without sleeping. Returns false if it could not
 * record the last change, because another thread, which may have no processor, or this one where a
 * signal has interrupted it, is recording or appends to the log: the caller tries again while it
 * has time.
 */
bool rank_changes_end(struct recorder *recorder);
/* For a child of fork(), which has no other threads. */
void rank_changes_forget(void);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * roctx: our definitions of its functions, for LD_PRELOAD, chained to the real ones where they
 * exist. Called by any application thread, with or without a runtime; they never wait. Records
 * go through a bounded ring to the shim thread; a full ring drops the record and counts it.
 */
#define MARKER_DEPTH_MAX 32u /* nested ranges of one thread that are told apart */

struct capture;
struct strings;

/* Before the shim thread starts: what an earlier instance could not send is dropped. */
void markers_begin(void);

/* Shim thread: what has come since, as numbered frames. */
void markers_drain(struct capture *capture, struct strings *strings);

/* Shim thread, at its end: what could not be sent is counted as dropped. */
void markers_finish(struct capture *capture);

/* fork's child: nothing of the parent's is sent by it. */
void markers_forget(void);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Ranges and marks of the application: roctx.c turns roctx calls into events of the recorder here.
 * Any application thread may call, with or without a runtime; no function waits.
 */
#include <stdint.h>

#include "proto/names/counters.h"

/* Levels are numbered from 0 as in roctx; -1 if no range is open. NULL is an empty text. */
int markers_push(const char *text);
int markers_pop(void);
void markers_mark(const char *text);

/* For the child of fork(): its thread's open ranges are in the parent's records. */
void markers_forget_thread(void);

/*
 * Ranges that may end on another thread, identified by @id: roctx's own id, or one of
 * markers_start_id().
 */
uint64_t markers_start_id(void);
void markers_start(uint64_t id, const char *text);
void markers_stop(uint64_t id);

/* @kind is one of RTL_MARKER_NAME_*; @subject is as described there. */
void markers_name(enum rtl_marker_kind kind, uint64_t subject, const char *name);

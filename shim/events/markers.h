/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Ranges and marks of the application: what roctx.c asks for, as events of the recorder. Any
 * application thread, with or without a runtime; nothing waits.
 */
#include <stdint.h>

#include "proto/names/counters.h"

/* Levels as roctx counts them, from 0; -1: no range is open. NULL is an empty text. */
int markers_push(const char *text);
int markers_pop(void);
void markers_mark(const char *text);

/* fork's child: the ranges that its one thread has open are in its parent's records. */
void markers_forget_thread(void);

/* Ranges that may end on another thread, by a number of whoever gives numbers. */
uint64_t markers_start_id(void);
void markers_start(uint64_t id, const char *text);
void markers_stop(uint64_t id);

/* @kind: one of RTL_MARKER_NAME_*; @subject as there. */
void markers_name(enum rtl_marker_kind kind, uint64_t subject, const char *name);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Host calls that are in progress on each thread, and their records: calls of HIP (librtl-calls.so)
 * and of RCCL (rccl.c). A call gets its number when it begins, so that what it causes can refer to
 * it; its record follows when it returns, as an event (events.h). Any application thread may call,
 * also before and after the runtime's life; nothing here waits, allocates or makes a system call.
 */
#include <stdbool.h>
#include <stdint.h>

#include "proto/recorder/layout.h"

/* On the wrapper's stack: calls at a higher address enclose this one. */
struct call_frame {
	uint64_t id;
	uint64_t parent;
	uint64_t marker;
	uint64_t start_ns;
};

/* What the record contains in addition to its call_frame. */
struct call_end {
	enum recorder_call_kind kind;
	uint32_t api; /* enum rtl_host_call or rtl_collective */
	int32_t result;
	uint64_t stream;
	const uint64_t *words;
	uint32_t count; /* of words, at most HOST_ARGS_MAX */
};

/*
 * The thread is inside the call between these two. If longjmp or an exception has left calls
 * without rtl_call_end(), the next call further out drops them, and its own record is right.
 */
void rtl_call_begin(struct call_frame *frame);
void rtl_call_end(struct call_frame *frame, const struct call_end *end);

/*
 * Reserves a number for a call that begins later (the end of a group); 0 if nothing is recorded
 * now. calls_begin_as() begins that call.
 */
uint64_t calls_reserve(void);
void calls_begin_as(struct call_frame *frame, uint64_t id);

/* Called by librtl-calls.so when it is loaded: in mode hip no other library reports HIP calls. */
void rtl_calls_attach(void);
bool calls_are_attached(void);

/* Mode off: callers of calls_are_off() then record nothing. */
void calls_switch_off(void);
bool calls_are_off(void);

/* For the child of fork(), which is in none of the parent's calls. */
void calls_forget(void);

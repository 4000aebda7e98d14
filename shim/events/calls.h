/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Host calls under way on each thread, and their records: HIP's (librtl-calls.so) and RCCL's
 * (rccl.c). A call has its number from its begin on, so that what it causes can say so; its
 * record follows on its return, as an event (events.h). Any application thread, before and after
 * the runtime's life too; nothing here waits, allocates or makes a system call.
 */
#include <stdbool.h>
#include <stdint.h>

#include "proto/recorder/layout.h"

/* Of the wrapper, on its stack: its address says which calls lie around it. */
struct call_frame {
	uint64_t id;
	uint64_t parent;
	uint64_t marker;
	uint64_t start_ns;
};

/* What a record adds to its frame. */
struct call_end {
	enum recorder_call_kind kind;
	uint32_t api; /* enum rtl_host_call or rtl_collective */
	int32_t result;
	uint64_t stream;
	const uint64_t *words;
	uint32_t count; /* of words, at most HOST_ARGS_MAX */
};

/*
 * Between the two the thread is in the call. Frames that were left by longjmp or an exception are
 * noticed by the next call further out, whose record does not suffer.
 */
void rtl_call_begin(struct call_frame *frame);
void rtl_call_end(struct call_frame *frame, const struct call_end *end);

/* A number for a call that begins later (the end of a group), and its begin with it; 0: nothing is
 * recorded now. */
uint64_t calls_reserve(void);
void calls_begin_as(struct call_frame *frame, uint64_t id);

/* librtl-calls.so is here: without it mode hip has nobody who begins a HIP call. */
void rtl_calls_attach(void);
bool calls_are_attached(void);

/* Mode off: whoever asks calls_are_off() leaves all of this alone. */
void calls_switch_off(void);
bool calls_are_off(void);

/* fork's child: it is in none of the parent's calls. */
void calls_forget(void);

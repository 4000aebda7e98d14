/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Asynchronous copies of the HSA runtime: the values of the wire (Copies), of the recorder
 * (struct recorder_call, RECORDER_CALL_COPY) and the texts of the database (rtl_copy), once.
 * Append only.
 */
#include <stdint.h>

/* Which function submitted it: Copies.how, and but for RTL_COPY_TIMES recorder_call.api. */
enum rtl_copy_how {
	RTL_COPY_ASYNC = 1, /* hsa_amd_memory_async_copy */
	RTL_COPY_ON_ENGINE, /* ..._on_engine */
	RTL_COPY_RECT,	    /* ..._rect */
	RTL_COPY_BATCH,	    /* one of those of hsa_amd_memory_async_batch_copy */
	RTL_COPY_TIMES,	    /* no copy: the times of one */
	RTL_COPY_HOW_COUNT,
};

enum rtl_copy_direction {
	RTL_COPY_UNKNOWN = 0,
	RTL_COPY_H2D,
	RTL_COPY_D2H,
	RTL_COPY_D2D, /* within a GPU */
	RTL_COPY_P2P, /* between two */
	RTL_COPY_H2H,
	RTL_COPY_DIRECTION_COUNT,
};

/* Where a copy comes from or goes to: the index of a GPU in Hello.gpus, or one of these. */
#define RTL_COPY_PLACE_HOST    (-1)
#define RTL_COPY_PLACE_UNKNOWN (-2)

/* recorder_call.arg of a RECORDER_CALL_COPY. Its start_ns is the submission, its parent the host
 * call. A RECORDER_CALL_COPY_TIMES has no arguments. */
enum rtl_copy_arg {
	RTL_COPY_ARG_BYTES,
	RTL_COPY_ARG_DIRECTION, /* enum rtl_copy_direction */
	RTL_COPY_ARG_SOURCE,	/* a place, as int32_t */
	RTL_COPY_ARG_TARGET,
	RTL_COPY_ARG_ENGINE, /* mask as asked for; 0: the runtime's choice */
};

/* "async", "h2d", ...; NULL for a value that is none. */
const char *rtl_copy_how_name(unsigned how);
const char *rtl_copy_direction_name(unsigned direction);

/* The direction between two places; unknown when either is. */
enum rtl_copy_direction rtl_copy_direction_between(int32_t source, int32_t target);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A frame of dispatches as its columns: a test fills those it means, the others say 0. Tests.
 */
#include <stdint.h>

#include "proto/base/limits.h"
#include "proto/wire/rtl.pb-c.h"

struct dispatch_columns {
	uint32_t shape[FRAME_RECORDS_MAX], duration[FRAME_RECORDS_MAX];
	uint64_t start[FRAME_RECORDS_MAX];
	int64_t seq[FRAME_RECORDS_MAX];
	int32_t submit[FRAME_RECORDS_MAX];
	uint32_t tid_from, tid; /* all of one thread */
};

/* Frame @number of the first @n; @dispatches, whose other fields stay, and @frame point into it. */
void columns_frame(struct dispatch_columns *columns, uint32_t n, uint64_t number,
	Rtl__Dispatches *dispatches, Rtl__Frame *frame);

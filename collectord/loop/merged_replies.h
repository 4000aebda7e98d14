/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The answers of several workers to one request of a tool, as one. Pure, but for memory.
 */
#include <stdbool.h>
#include <stddef.h>

#include "proto/wire/rtl.pb-c.h"

struct access_totals;

struct merge {
	Rtl__Frame **replies; /* NULL among them: that one did not answer */
	size_t count;
	const char *silent; /* who did not answer, for people; NULL: all have */
	const char *status; /* of ctl status: what stands before "STATE"; NULL: nothing is to */
};

/* Calls @send with a frame that lives as long as the call. -ENOMEM; -ENODATA: nobody has answered.
 */
int merge_replies(
	const struct merge *merge, void (*send)(const Rtl__Frame *reply, void *data), void *data);

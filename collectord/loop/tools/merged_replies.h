/* SPDX-License-Identifier: MIT */
#pragma once
/* Merges the replies of several workers to one request of a tool. Pure apart from memory. */
#include <stdbool.h>
#include <stddef.h>

#include "proto/wire/rtl.pb-c.h"

struct overview_totals;

struct merge {
	Rtl__Frame **replies; /* a NULL element: that worker did not answer */
	size_t count;
	const char *silent; /* names the workers that did not answer; NULL: all did */
	const char *status; /* for ctl status: the text before "STATE"; NULL: no such line */
};

/*
 * Calls @send with a frame that is valid during the call. -ENOMEM; -ENODATA if there is no reply.
 */
int merge_replies(
	const struct merge *merge, void (*send)(const Rtl__Frame *reply, void *data), void *data);

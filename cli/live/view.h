/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A sample as lines of text, the same for a terminal and for a pipe, or as one JSON document.
 * One thread; writes nothing itself.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/collector/sample.h"

enum stat_style {
	STAT_PLAIN,
	STAT_HEAD,  /* the line with the time */
	STAT_TITLE, /* titles of columns */
	STAT_SESSION,
	STAT_LOSSY, /* a row that lost something, or trouble of a collector */
};

struct stat_line {
	char *text; /* escaped */
	enum stat_style style;
};

struct stat_view {
	struct stat_line *lines;
	size_t count;
};

enum stat_order {
	STAT_BY_RANK,
	STAT_BY_RATE, /* the slowest first, because the job waits there */
	STAT_BY_LOAD,
	STAT_BY_DROPS,
	STAT_ORDERS,
};

/*
 * @now contains its rates. @interval_ns is printed in the head. Columns of tables that do not fit
 * into @width are left out; 0: all fit.
 */
struct stat_view *stat_view_new(
	const struct sample *now, uint64_t interval_ns, enum stat_order order, size_t width);
void stat_view_free_p(struct stat_view **view);

json_t *stat_view_json(const struct sample *now);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Every kernel and copy of all lanes in a few stretches of time, for a page that cannot hold all of
 * ten million. A stretch that holds more than its share ends earlier, at the same instant on all
 * lanes: what a window shows is whole. Where all fits, one window has all, and the stretches are
 * only places to look at. One pass over the dispatches. One thread.
 */
#include "cli/collectives/totals.h"
#include "cli/trace/categories.h"
#include "cli/timeline/timeline.h"

/* Some 9 bytes each in the page. */
#define REPORT_EVENTS_MAX  65536
#define REPORT_WINDOWS_MAX 4

struct report_event {
	int64_t start_ns, length_ns;
	uint32_t lane; /* of the timeline */
	uint32_t name;
};

struct report_window {
	int64_t from_ns, to_ns;
	bool is_all, is_cut; /* everything; ends early */
	bool is_place;	     /* has no events of its own: another window has them */
	char label[128];
	struct report_event *events; /* by lane, start */
	size_t count, capacity;
};

struct report_name {
	int64_t kernel_id; /* 0: a copy, by its text */
	char *text;
	const char *category; /* borrowed of the categories */
	enum category_class class;
};

struct report_detail {
	struct report_window windows[REPORT_WINDOWS_MAX];
	size_t window_count;
	struct report_name *names;
	size_t name_count, name_capacity;
};

/*
 * @events: how many in all; @has: how many there are, to know whether all fit. 0 or -errno; then
 * query_error() tells, or it is -ENOMEM.
 */
int report_detail_read(struct query *query, const struct categories *categories,
	const struct timeline *timeline, const struct collectives *collectives,
	const struct collectives_report *stragglers, size_t events, uint64_t has,
	struct report_detail *ret);
void report_detail_done(struct report_detail *detail);

/* report_windows.c: which stretches those are. */
void report_windows_choose(const struct timeline *timeline, const struct collectives *collectives,
	const struct collectives_report *stragglers, struct report_detail *detail);

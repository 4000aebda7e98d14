/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Every kernel and copy of all lanes in a few intervals, for a page that cannot contain all of ten
 * million. An interval with more than its share of events ends earlier, at the same time on all
 * lanes, so a window is always complete. If everything fits, one window contains all, and the
 * intervals are only places in it. One pass over the dispatches. One thread.
 */
#include "cli/collectives/totals.h"
#include "cli/trace/trace.h"
#include "cli/timeline/timeline.h"

/* About 9 bytes each in the page. */
#define REPORT_EVENTS_MAX  65536
#define REPORT_WINDOWS_MAX 4

struct report_event {
	int64_t start_ns, length_ns;
	uint32_t lane; /* index in the timeline */
	uint32_t name;
};

struct report_window {
	int64_t from_ns, to_ns;
	bool is_all, is_cut; /* is_all: it contains everything; is_cut: it ends early */
	bool is_place;	     /* it has no events of its own, because another window contains them */
	char label[128];
	struct report_event *events; /* sorted by lane and start */
	size_t count, capacity;
};

struct report_name {
	int64_t kernel_id; /* 0 for a copy, which is identified by its text */
	const char *text;  /* of the trace, or own_text; NULL if the kernel has no row */
	char *own_text;
	const char *category; /* of the trace */
	enum category_class class;
};

struct report_detail {
	struct report_window windows[REPORT_WINDOWS_MAX];
	size_t window_count;
	struct report_name *names;
	size_t name_count, name_capacity;
};

/*
 * @events is the limit for all windows; @has is the number of events, which tells whether all fit.
 * Returns 0, or -errno with the reason in query_error().
 */
int report_detail_read(const struct trace *trace, const struct timeline *timeline,
	const struct collectives *collectives, const struct collectives_report *stragglers,
	size_t events, uint64_t has, struct report_detail *ret);
void report_detail_done(struct report_detail *detail);

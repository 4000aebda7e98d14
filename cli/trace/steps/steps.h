/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The steps of each process: from its roctx ranges or marks, otherwise from a period in the
 * sequence of its kernels, otherwise its whole run as one step. A step is a window of time in which
 * the GPUs did what was submitted in it: it begins with the marker, or when they had finished what
 * was submitted before, whichever is later (docs/commands.md). Windows of a process do not overlap.
 * Times are ns of CLOCK_BOOTTIME. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/trace/trace.h"

enum steps_source {
	STEPS_MARKERS,
	STEPS_INFERRED,
	STEPS_WHOLE, /* there are no steps: the run of each process is one */
};

struct step {
	int64_t number; /* from the marker if those numbers increase; otherwise from 0 */
	int64_t start_ns, end_ns;
	bool is_open;	    /* its end is not known */
	bool is_unrecorded; /* its marker lies in a time that the user chose not to record */
	char *text;	    /* text of the marker; NULL if there is none */
};

/* A process that used a GPU, or has markers of steps. */
struct steps_process {
	int64_t process_id;
	bool has_events;
	int64_t first_ns, last_ns; /* of its kernels and copies that have times */
	struct step *at;
	size_t count;
	bool is_whole; /* it has no steps of its own, so its run is one step */
};

#define STEPS_LINE_BYTES 256
/* Limit for all processes; with their texts and positions 150 MB. */
#define STEPS_MAX	 1000000

struct steps {
	enum steps_source source;
	double confidence;		 /* for STEPS_INFERRED: 0 to 1 */
	size_t period;			 /* for STEPS_INFERRED: kernels per step */
	char line[STEPS_LINE_BYTES];	 /* where they come from, for display */
	struct steps_process *processes; /* sorted by id */
	size_t count;
	size_t step_count;   /* number of steps of all processes */
	bool is_too_many;    /* there are more than STEPS_MAX, so the source is STEPS_WHOLE */
	bool has_unrecorded; /* steps_keep_recorded() removed some time */
};

/*
 * @regex matches the markers that begin a step (POSIX extended). With NULL those of rtl run are
 * used (CHOICE_STEP_MARKER_DEFAULT), or a period is searched if there are none. Returns 0; -EINVAL
 * with @error for a bad regex, no matching marker, or too many with @regex; or the errors of
 * query_open(), with the reason in query_error().
 */
int steps_new(const struct trace *trace, const char *regex, char error[QUERY_ERROR_BYTES],
	struct steps **ret);
/*
 * Uses only markers, with their own times: no period is searched, and what a process did is not
 * known. Without a marker the source is STEPS_WHOLE, and there are no steps. Otherwise like
 * steps_new(). Reads no dispatches.
 */
int steps_new_marked(
	struct query *query, const char *regex, char error[QUERY_ERROR_BYTES], struct steps **ret);
void steps_free_p(struct steps **steps);

/*
 * Replaces the steps of each process by one: from the first step (the second if there are three or
 * more) to the last, including what is between, but nothing before its first kernel or copy or
 * after its last. If nothing is left then, the first step is included, too; if a process did
 * nothing in any step, its whole run is used.
 */
void steps_join(struct steps *steps);

/*
 * Limits joined steps to what was recorded: a user may choose steps or times (rtl_recording), and
 * the time between these is not idle time. Returns 0, or -errno with the reason in query_error().
 */
int steps_keep_recorded(struct query *query, struct steps *steps);

/* Replaces the steps of each process by its run, for the reason @why. Returns 0 or -ENOMEM. */
int steps_take_whole(struct steps *steps, const char *why);

/* Returns NULL if it did nothing. */
const struct steps_process *steps_of(const struct steps *steps, int64_t process_id);
/* Returns the last step of a process that began at @time_ns or before; NULL if none had. */
const struct step *steps_begun(const struct steps_process *process, int64_t time_ns);
/* Returns the step of a process that contains @time_ns; NULL if there is none. */
const struct step *steps_find(const struct steps_process *process, int64_t time_ns);

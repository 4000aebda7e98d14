/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The steps of each process: from its roctx ranges or marks, else from a period in the sequence
 * of its kernels, else its whole run as one. A step is a window of time in which the GPUs did
 * what was submitted in it: it begins with the marker, or when they had done what was submitted
 * before, whichever is later (docs/commands.md). Windows of a process do not overlap. Times are
 * ns of CLOCK_BOOTTIME. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/database/query.h"

enum steps_source {
	STEPS_MARKERS,
	STEPS_INFERRED,
	STEPS_WHOLE, /* there are none: the run of each process is one */
};

struct step {
	int64_t number; /* what the marker says, if it counts up; else from 0 */
	int64_t start_ns, end_ns;
	bool is_open; /* nothing said where it ends */
	char *text;   /* of the marker; NULL: none */
};

/* A process that did something on a GPU, or has markers that name steps. */
struct steps_process {
	int64_t process_id;
	bool has_events;
	int64_t first_ns, last_ns; /* of its kernels and copies with times */
	struct step *at;
	size_t count;
	bool is_whole; /* it has no steps of its own: its run is one */
};

#define STEPS_LINE_BYTES 256
/* Of all processes, with their texts and places 150 MB. */
#define STEPS_MAX	 1000000

struct steps {
	enum steps_source source;
	double confidence;		 /* of STEPS_INFERRED: 0 to 1 */
	size_t period;			 /* likewise: kernels a step */
	char line[STEPS_LINE_BYTES];	 /* where they come from, for people */
	struct steps_process *processes; /* by id */
	size_t count;
	size_t step_count; /* of all processes */
	bool is_too_many;  /* more than STEPS_MAX: the source is STEPS_WHOLE for it */
	bool has_unrecorded; /* steps_keep_recorded() took times away */
};

/*
 * @regex: of the markers that begin a step (POSIX extended); NULL: those of rtl run
 * (CHOICE_STEP_MARKER_DEFAULT), and without any a period is looked for. 0; -EINVAL with @error:
 * bad regex, no marker matches, or with a @regex too many; else as query_open(), and query_error()
 * tells.
 */
int steps_new(
	struct query *query, const char *regex, char error[QUERY_ERROR_BYTES], struct steps **ret);
/* Of markers alone, as they say it: their times are not moved, no period is looked for, and what a
 * process did is not known. Without a marker the source is STEPS_WHOLE, and there are none. Else as
 * steps_new(). Reads no dispatches. */
int steps_new_marked(
	struct query *query, const char *regex, char error[QUERY_ERROR_BYTES], struct steps **ret);
void steps_free_p(struct steps **steps);

/*
 * One step of each process in place of all of them: from the first (of three and more the second)
 * to the last, with what is between, and nothing before its first kernel or copy or after its last.
 * Where nothing is left of that the first counts, too; of who did nothing in any, the whole run.
 */
void steps_join(struct steps *steps);

/*
 * Of joined steps what was recorded: a user may choose steps or times (rtl_recording), and what lies
 * between these is no idle time. 0 or -errno; then query_error() tells, or it is -ENOMEM.
 */
int steps_keep_recorded(struct query *query, struct steps *steps);

/* The run of each process in place of its steps, because of what @why says. -ENOMEM. */
int steps_take_whole(struct steps *steps, const char *why);

/* NULL: it did nothing. */
const struct steps_process *steps_of(const struct steps *steps, int64_t process_id);
/* The step of a process in which @time_ns lies; NULL: none. */
const struct step *steps_find(const struct steps_process *process, int64_t time_ns);

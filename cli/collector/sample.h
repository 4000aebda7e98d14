/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What the collectors report at one moment about all sessions that this user may see, in plain
 * structs, and the rates between two such moments. For rtl stat and rtl ls. One thread; prints
 * nothing.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/collector/ask_all.h"

struct sample_session {
	char *socket; /* NULL if the session comes from a file and no collector reported it */
	char *name, *job, *database, *command, *line; /* NULL if unknown */
	char *container; /* the service names it if the session is of one; else NULL */
	uint32_t uid, processes, live_processes;
	uint64_t start_realtime_ns, dispatched, stored, lost, bytes;
	bool has_uid, has_counts, is_closed, is_simulated;
	bool is_found_by_job;	      /* see sample_shown_name() */
	bool is_missing;	      /* something is missing, lost or not; line tells what */
	uint64_t removed_realtime_ns; /* when its collector removed it */
	char *removed_why;	      /* NULL if it was not removed */
	bool is_kept;		      /* from retention, or in the list; only for rtl ls */
	bool is_aside;		      /* a file that a collector found damaged and moved aside */
	uint64_t written_ns;	      /* the last write to it; only for rtl ls */
	char *hang; /* what it hangs in, and for how long; NULL if nothing; only for rtl stat */
	int64_t hang_ns;   /* valid with hang */
	uint64_t asked_ns; /* CLOCK_MONOTONIC from which on its database may be asked again */
};

/* One process on one GPU. */
struct sample_row {
	size_t session; /* index in sessions */
	uint64_t process_id;
	int64_t pid;
	bool has_rank, has_gpu, has_last;
	uint32_t rank, gpu_id;
	uint64_t dispatched, stored, untimed, dropped, skipped, outstanding, pending, busy_ns;
	uint64_t last_ns; /* end of its latest kernel, CLOCK_BOOTTIME */
	uint64_t time_ns; /* of the reply, CLOCK_BOOTTIME */
	char *state, *exe;
	/* "yes", or why it does not record; NULL if it has not reported that */
	const char *records;

	/* Since the previous sample; NAN if unknown. */
	double kernels_per_s, load_pct, mean_ns;
};

struct sample {
	struct sample_session *sessions;
	size_t session_count;
	struct sample_row *rows; /* sorted by session, rank, process, GPU */
	size_t row_count;
	char **kept; /* databases that their owners keep, from sample_take_sessions() */
	size_t kept_count;
	char *trouble; /* reported by a collector that has trouble or did not answer; or NULL */
	unsigned collectors;
	uint64_t time_ns; /* CLOCK_BOOTTIME */
	/* Totals of all users: the service reports them, a private collector does not. */
	bool has_node;
	uint32_t node_sessions, node_processes, node_connections;
};

/*
 * Asks all collectors (@option: --socket) for ranks, with @session only for that session. Also
 * returns 0 if none answered: ret->collectors is 0 then, and ret->trouble may tell why. Returns
 * -ENOMEM otherwise.
 */
int sample_take(const char *option, const char *session, struct sample **ret);
/* Like sample_take(), but only for their sessions, including closed ones. */
int sample_take_sessions(const char *option, struct sample **ret);
void sample_free_p(struct sample **sample);

/* Sets a note to show above all else. */
void sample_note(struct sample *sample, const char *text);

/* Appends an empty session. Returns NULL if memory is short. */
struct sample_session *sample_add_session(struct sample *sample);
/* Removes the last session, which has no rows. */
void sample_drop_session(struct sample *sample);

/*
 * The name under which the user sees a session. At a service it is the name of its job, if that
 * name finds this session: the service makes no path of a user's words. NULL: unknown.
 */
const char *sample_shown_name(const struct sample_session *session);
/* Finds these names again, after sessions were added. */
void sample_name_sessions(struct sample *sample);

/* Computes the rates of @now. @before may be NULL. */
void sample_rate(struct sample *now, const struct sample *before);

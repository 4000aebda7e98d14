/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What the collectors say at one moment, of all sessions that this user may see, in plain
 * structs, and the rates between two such moments. For rtl stat and rtl ls. One thread;
 * prints nothing.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/collector/ask_all.h"

struct sample_session {
	char *socket; /* NULL: from a file, no collector told of it */
	char *name, *job, *database, *command, *line; /* NULL: unknown */
	uint32_t uid, processes, live_processes;
	uint64_t start_realtime_ns, dispatched, stored, lost, bytes;
	bool has_uid, has_counts, is_closed, is_simulated;
	bool is_missing; /* something, lost or else: line says what */
	uint64_t removed_realtime_ns; /* its collector removed it then ... */
	char *removed_why;	      /* ... NULL: it did not */
	bool is_aside; /* a file that a collector found damaged and put out of its way */
	uint64_t written_ns; /* the last write to it; of rtl ls alone */
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
	const char *records; /* "yes", or why it does not; NULL: it has not said */

	/* Since the sample before; NAN: not known. */
	double kernels_per_s, load_pct, mean_ns;
};

struct sample {
	struct sample_session *sessions;
	size_t session_count;
	struct sample_row *rows; /* by session, rank, process, GPU */
	size_t row_count;
	char *trouble; /* of a collector that is not well, or that did not answer; NULL */
	unsigned collectors;
	uint64_t time_ns; /* CLOCK_BOOTTIME */
	bool has_node;	  /* all tenants together: the service says it, a private collector not */
	uint32_t node_sessions, node_processes, node_connections;
};

/*
 * Asks all collectors (@option: --socket) for ranks; @session: only that one. 0 also when none
 * answered: then ret->collectors is 0 and ret->trouble may say why. -ENOMEM.
 */
int sample_take(const char *option, const char *session, struct sample **ret);
/* Likewise, but only their sessions, closed ones too. */
int sample_take_sessions(const char *option, struct sample **ret);
void sample_free_p(struct sample **sample);

/* Something to show above everything else. */
void sample_note(struct sample *sample, const char *text);

/* Appends an empty session. NULL: no memory. */
struct sample_session *sample_add_session(struct sample *sample);
/* The last one, of which there are no rows. */
void sample_drop_session(struct sample *sample);

/* Fills the rates of @now. @before may be NULL. */
void sample_rate(struct sample *now, const struct sample *before);

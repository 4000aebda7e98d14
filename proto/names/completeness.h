/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The completeness line: counts in, one line out. The store fills it from its ledger, the cli
 * from the database; both must say the same. Pure; any thread.
 *
 *   complete: N dispatched, N stored
 *   complete: N dispatched, N stored (lite: T timed)
 *   RUNNING: N dispatched, M stored so far
 *   INCOMPLETE: N dispatched, M stored, K dropped (reason n, ...), U untimed (...), O outstanding
 *   imported: N kernels; what SOURCE lost is unknown
 *
 * RUNNING while a collector writes it and nothing is lost yet;
 * the last of what another tool recorded (rtl import), where it is unknown which of the others it
 * is. Of a file that has both, the line of rtl's own dispatches follows it after a semicolon.
 *
 * with "SIMULATED " in front for a software GPU. Behind the count of a reason why dispatches were
 * dropped, torn or left untimed, and of unknown tails, stands where and when, as far as that is
 * known:
 *
 *   12 dropped (recorder_full 12: rank 3 queue 5, 12:01:03.2-12:01:04.0 UTC)
 *
 * What has no fixed place in the line is appended
 * only when it is not zero: skipped, torn, not yet accounted for, lost markers, unknown tails.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMPLETENESS_REASONS_MAX  16
#define COMPLETENESS_LINE_BYTES	  896
#define COMPLETENESS_SOURCE_BYTES 64

/* The reason of processes that were not recorded for their uid, which follows. */
#define COMPLETENESS_UNSEEN_OF "processes_of_uid_"

/* Where and when the losses of one reason happened. */
struct completeness_place {
	uint64_t processes; /* 0: not known */
	bool has_rank;	    /* of the only process */
	int64_t rank;
	bool has_queue; /* it was one queue only */
	int64_t queue;
	int64_t from_ns; /* CLOCK_REALTIME; 0: not known */
	int64_t to_ns;
};

struct completeness_reason {
	const char *name; /* as in rtl_loss or rtl_untimed_reason, prefix included; borrowed */
	uint64_t count;
	struct completeness_place place;
};

struct completeness_reasons {
	struct completeness_reason at[COMPLETENESS_REASONS_MAX];
	unsigned count;
};

struct completeness {
	bool simulated;
	bool live;		  /* not closed: never complete */
	bool written;		  /* ... and a collector writes it */
	uint64_t dispatched;	  /* by processes whose ledger is here */
	uint64_t stored;	  /* of all processes */
	bool imported;		  /* some processes were recorded by another tool */
	bool imported_all;	  /* all were */
	uint64_t imported_stored; /* of those */
	char imported_from[COMPLETENESS_SOURCE_BYTES]; /* the tool's name; empty: several */
	uint64_t untimed;
	uint64_t untimed_by_mode; /* of those, by the mode that the user chose: no loss */
	uint64_t outstanding;
	uint64_t dropped;
	uint64_t skipped;
	uint64_t torn;
	uint64_t pending;
	uint64_t markers_dropped;
	uint64_t calls_dropped;
	uint64_t copies_dropped;
	uint64_t queues_coop;	      /* cooperative queues whose dispatches were not counted */
	uint64_t queues_ineligible;   /* other queues that could not be followed */
	uint64_t copy_queues_unseen;  /* queues of copy engines that a program fills itself */
	uint64_t runtimes_ignored;    /* HSA runtimes whose queues are in no count */
	uint64_t tails_unknown;	      /* processes whose last moments are not known */
	uint64_t databases_set_aside; /* earlier files of it, damaged: what they hold is not here */
	uint64_t frames_missing;      /* acknowledged, and not in this file */
	uint64_t logs_cut;	      /* a log has lost what was committed last */
	uint64_t names_left_out;      /* uses of names that were not kept */
	uint64_t shapes_coarse;	      /* rows of these have no geometry, or no kernel */
	uint64_t unwrapped_roctx;     /* processes whose ranges did not come by the shim */
	uint64_t unwrapped_rccl;      /* ... whose RCCL calls did not */
	uint64_t unwrapped_hip;	      /* ... whose HIP calls did not, in a mode that records them */
	uint64_t rows_missing;	      /* the ledger and the file differ by so many */
	uint64_t processes_unseen;    /* had no recorder, or nothing of them could be stored */
	uint64_t unseen_of_users;     /* ... since they are of another user than the collector */
	uint64_t unseen_uid;	      /* which one; UINT64_MAX: several */
	uint64_t unwatched;	      /* no collector listened for a time: ranks may be missing */
	uint64_t undrained;    /* processes that have not ended, or not been read to their end */
	uint64_t other_losses; /* rtl_loss rows of any other kind, summed; a NULL count is 1 */
	struct completeness_place torn_place;
	struct completeness_place tails_place;
	/* The parts of dropped, skipped and untimed. */
	struct completeness_reasons dropped_by;
	struct completeness_reasons skipped_by;
	struct completeness_reasons untimed_by;
};

/* Adds @count to the entry @name; past the last entry it is not listed. 0 adds nothing. */
void completeness_add(struct completeness_reasons *reasons, const char *name, uint64_t count);

/* Says where what rtl_loss calls @reason happened, if the line has a place for it. */
void completeness_locate(
	struct completeness *c, const char *reason, const struct completeness_place *place);

/* The counter of rtl_loss's @reason, if it has its own; NULL: @reason is about dispatches. */
uint64_t *completeness_own_loss(struct completeness *c, const char *reason);

/* A session that another tool recorded is neither complete nor incomplete: its losses are
 * unknown. */
bool completeness_is_unknown(const struct completeness *c);

/*
 * Closed, every process read to its end, and nothing dropped, torn, outstanding, untimed or
 * unknown. What a filter of the user skipped, or a mode of the user left untimed, is no loss; any
 * other skip is. Of what another tool recorded this is never known.
 */
bool completeness_is_complete(const struct completeness *c);

/* A collector writes it, and so far nothing is missing that no later frame brings. */
bool completeness_is_running(const struct completeness *c);

/* Something that no later frame brings, be it live: also what counts no dispatches. */
bool completeness_is_missing(const struct completeness *c);

/* Dispatches that are missing or have no times, but for what the user's mode left untimed. */
uint64_t completeness_lost(const struct completeness *c);

/* Writes the line and a NUL, cut at @bytes; returns @line. */
char *completeness_format(const struct completeness *c, char *line, size_t bytes);

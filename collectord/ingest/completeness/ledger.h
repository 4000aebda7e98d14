/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The ledger of one process: for each queue, how many dispatches there were and what became of
 * them; the counters of the shim; what is missing and why. It is saved in the transaction that
 * stores the rows that it counts, and read back after a ROLLBACK or a re-open. Store thread.
 *
 *   dispatched = skipped + stored + outstanding + dropped + torn + pending
 */
#include <stdbool.h>
#include <stdint.h>

#include "collectord/db/hash.h"
#include "collectord/ingest/completeness/losses.h"
#include "collectord/db/rows/quota.h"
#include "collectord/db/rows/statements.h"
#include "proto/names/counters.h"
#include "proto/wire/rtl.pb-c.h"

/* Losses that the collector finds; those of the shim come from its counters. */
enum ledger_loss {
	LEDGER_MALFORMED,    /* dispatches in published frames that cannot be read */
	LEDGER_DISK_FULL,    /* dispatches that were not stored because the disk stayed full */
	LEDGER_DB_ERROR,     /* dispatches that were not stored because of another error of the
			      * database */
	LEDGER_QUOTA,	     /* dispatches beyond the quota of their tenant */
	LEDGER_QUEUE_LOSSES, /* reasons before this one count for a queue, later ones for the
			      * process */
	LEDGER_CORRUPT_FRAMES = LEDGER_QUEUE_LOSSES, /* frames that cannot be read */
	LEDGER_CORRUPT_SLOT,	/* slots and events of the recorder that are not valid */
	LEDGER_CORRUPT_DEFINES, /* 1: the end of the define log is not valid */
	LEDGER_BAD_RECORDER,	/* 1: its header is not valid, and nothing was read */
	LEDGER_UNKNOWN_TAIL,	/* 1: the process died while no collector ran; stored with count
				 * NULL */
	/*
	 * Frames that were acknowledged but are not in this file; their dispatches become
	 * LEDGER_DB_ERROR at the end.
	 */
	LEDGER_MISSING_FRAMES,
	LEDGER_QUOTA_MARKERS, /* as LEDGER_QUOTA, for markers */
	LEDGER_QUOTA_CALLS,   /* for host calls and collectives */
	LEDGER_QUOTA_COPIES,
	LEDGER_QUOTA_DEFINES, /* 1: the tenant has no memory for its definitions */
	LEDGER_NAMES,	      /* names that were not kept and are stored as <name-overflow> */
	LEDGER_LOSSES,
};

/* Dispatches with one reason: rows without a time, or dispatches over quota. */
struct ledger_befallen {
	uint64_t count;
	uint64_t noted; /* how many of them are noted; the span covers the others */
	struct loss_span span;
};

struct ledger_queue {
	UT_hash_handle hh;
	uint32_t queue;
	bool is_lost; /* the hash table could not grow for it */
	bool is_dirty;
	bool has_gpu;
	uint32_t gpu_id;
	uint64_t counter[RTL_Q_COUNT];
	uint64_t counter_saved[RTL_Q_COUNT];
	/* Counts of rows in the database, including the open transaction. */
	uint64_t stored;
	uint64_t untimed;
	uint64_t outstanding;
	uint64_t torn;
	uint64_t lost[LEDGER_QUEUE_LOSSES]; /* by the collector */
	struct ledger_befallen untimed_by[RTL_UNTIMED_COUNT];
	struct ledger_befallen over_quota; /* details of lost[LEDGER_QUOTA] */
	uint64_t seq_before; /* `dispatched` at the previous reading, after which dispatches may
			      * be missing */
	uint64_t busy_ns;
	uint64_t last_end_ns;
	int64_t last_shape; /* of the row with last_end_ns; 0: none */
	uint64_t last_seq;
	uint64_t next_seq; /* the highest sequence number seen, plus 1 */
	/* Read from rtl_queue by ledger_load(); the counter rows may be older than these. */
	uint64_t dispatched_before;
	uint64_t skipped_before;
	uint64_t dropped_before;
};

struct ledger {
	int64_t process_id;
	struct quota_account *account; /* the account that is charged for memory; NULL: none */
	struct ledger_queue *queues;
	uint64_t process[RTL_P_COUNT];
	uint64_t process_saved[RTL_P_COUNT];
	uint64_t loss[LEDGER_LOSSES]; /* of the process: from LEDGER_QUEUE_LOSSES on */
	struct losses losses;
	struct loss_span reading;   /* from the previous reading of the counters to the last one */
	uint64_t next_from_ns;	    /* start of the next span: not later than any event that the
				     * last reading missed */
	uint64_t unreadable;	    /* records in unreadable frames, as counted in their cells */
	uint64_t counters_saved_ns; /* CLOCK_MONOTONIC */
};

/* Clears @ledger and reads it from the database. -ENOMEM, or database_errno(). */
int ledger_load(struct ledger *ledger, struct statements *statements);
void ledger_done(struct ledger *ledger);

/* True if there is a ledger of @queue, or if the tenant has memory for one. */
bool ledger_has_room(const struct ledger *ledger, uint32_t queue);

/*
 * Returns the ledger of a queue, which is created on first use. The pointer is valid until
 * ledger_load(). NULL: out of memory.
 */
struct ledger_queue *ledger_queue(struct ledger *ledger, uint32_t queue);

/*
 * Announces counters that were read between these two times of CLOCK_BOOTTIME: whatever has risen
 * did so since the previous reading. Calling it again with the same @begun_ns continues the same
 * reading. 0: now.
 */
void ledger_begin_reading(struct ledger *ledger, uint64_t begun_ns, uint64_t ended_ns);

/* Counts a row without a time, submitted at @submit_ns (0: unknown). */
void ledger_count_untimed(
	struct ledger_queue *queue, unsigned why, uint64_t seq, uint64_t submit_ns);

/* Counts a dispatch that its tenant may not store. */
void ledger_count_over_quota(struct ledger_queue *queue, uint64_t seq, uint64_t submit_ns);

/*
 * Takes cumulative counters; a value never decreases. @gpus maps an index to a gpuId. -ENOMEM,
 * -EBADMSG.
 */
int ledger_take_counters(struct ledger *ledger, const Rtl__Counters *counters, const uint32_t *gpus,
	unsigned gpu_count);

/* The same from a recorder. -ENOMEM. */
int ledger_take_process(struct ledger *ledger, const uint64_t *value, unsigned count);
int ledger_take_queue(struct ledger *ledger, uint32_t queue, bool has_gpu, uint32_t gpu_id,
	const uint64_t *value, unsigned count);

/*
 * Called when nothing more will come: pending dispatches were lost in the unreadable frames, the
 * others are torn. With @is_alive they are in flight in a process that the session no longer waits
 * for, so they become outstanding. Not for a process whose tail is unknown.
 */
void ledger_settle(struct ledger *ledger, bool is_alive);

/*
 * Moves the process to another file, which has none of its @frames frames: the counters of the shim
 * stay, all rows are gone. -ENOMEM.
 */
int ledger_move(struct ledger *ledger, uint64_t frames);

/*
 * Called when nothing more will come and the records could not be stored: everything pending is
 * lost for the reason @why.
 */
void ledger_give_up(struct ledger *ledger, enum ledger_loss why);

/* Writes what has changed; the counters at most once a second, unless @all. database_errno(). */
int ledger_save(struct ledger *ledger, struct statements *statements, bool all);

uint64_t ledger_queue_dispatched(const struct ledger_queue *queue);
uint64_t ledger_queue_skipped(const struct ledger_queue *queue);
uint64_t ledger_queue_dropped(const struct ledger_queue *queue);
/* Dispatches whose fate is known: stored, outstanding, dropped, skipped or torn. */
uint64_t ledger_queue_accounted(const struct ledger_queue *queue);

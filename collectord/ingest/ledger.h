/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The books of one process: per queue what was dispatched and where each dispatch went, the
 * shim's counters, what is missing and why. Saved in the transaction that stores the rows it
 * counts; read back after a ROLLBACK or a re-open. Store thread.
 *
 *   dispatched = skipped + stored + outstanding + dropped + torn + pending
 */
#include <stdbool.h>
#include <stdint.h>

#include "collectord/db/hash.h"
#include "collectord/ingest/losses.h"
#include "collectord/db/quota.h"
#include "collectord/db/statements.h"
#include "proto/names/counters.h"
#include "proto/wire/rtl.pb-c.h"


/* Found by the collector itself; the shim's own losses come from its counters. */
enum ledger_loss {
	LEDGER_MALFORMED,    /* dispatches lost in published frames that nobody can read */
	LEDGER_DISK_FULL,    /* dispatches for which there was no room until it was too late */
	LEDGER_DB_ERROR,     /* likewise, for whatever else kept the database from taking them */
	LEDGER_QUOTA,	     /* dispatches beyond what their tenant may store */
	LEDGER_QUEUE_LOSSES, /* those before it are of a queue, those behind of the process */
	LEDGER_CORRUPT_FRAMES = LEDGER_QUEUE_LOSSES, /* frames that nobody can read */
	LEDGER_CORRUPT_SLOT,	/* slots and events of the recorder that make no sense */
	LEDGER_CORRUPT_DEFINES, /* 1: the define log ends in rubbish */
	LEDGER_BAD_RECORDER,	/* 1: its header does; nothing was read from it */
	LEDGER_UNKNOWN_TAIL,	/* 1: died unseen; stored with count NULL */
	/* Acknowledged, and not in this file: what they held is lost to LEDGER_DB_ERROR in the end.
	 */
	LEDGER_MISSING_FRAMES,
	LEDGER_QUOTA_MARKERS, /* as LEDGER_QUOTA, of what the host did */
	LEDGER_QUOTA_CALLS,   /* collectives among them */
	LEDGER_QUOTA_COPIES,
	LEDGER_QUOTA_DEFINES, /* 1: definitions that its tenant has no memory for */
	LEDGER_NAMES,	      /* names that are not kept: <name-overflow> stands for them */
	LEDGER_LOSSES,
};

/* Dispatches that one reason befell: rows without a time, or none for want of quota. */
struct ledger_befallen {
	uint64_t count;
	uint64_t noted; /* of those: the span is of the others */
	struct loss_span span;
};

struct ledger_queue {
	UT_hash_handle hh;
	uint32_t queue;
	bool is_lost; /* the table could not grow for it */
	bool is_dirty;
	bool has_gpu;
	uint32_t gpu_id;
	uint64_t counter[RTL_Q_COUNT];
	uint64_t counter_saved[RTL_Q_COUNT];
	/* Of rows in the database, the open transaction included. */
	uint64_t stored;
	uint64_t untimed;
	uint64_t outstanding;
	uint64_t torn;
	uint64_t lost[LEDGER_QUEUE_LOSSES]; /* by the collector */
	struct ledger_befallen untimed_by[RTL_UNTIMED_COUNT];
	struct ledger_befallen over_quota; /* of lost[LEDGER_QUOTA] */
	uint64_t seq_before; /* `dispatched` of the reading before, where dispatches may be missing
			      */
	uint64_t busy_ns;
	uint64_t last_end_ns;
	int64_t last_shape; /* of the row that ended then; 0: none */
	uint64_t last_seq;
	uint64_t next_seq; /* highest number seen + 1 */
	/* As saved before this life of the collector: counters there may be older. */
	uint64_t dispatched_before;
	uint64_t skipped_before;
	uint64_t dropped_before;
};

struct ledger {
	int64_t process_id;
	struct quota_account *account; /* who pays for the memory; NULL: nobody */
	struct ledger_queue *queues;
	uint64_t process[RTL_P_COUNT];
	uint64_t process_saved[RTL_P_COUNT];
	uint64_t loss[LEDGER_LOSSES]; /* of the process: from LEDGER_QUEUE_LOSSES on */
	struct losses losses;
	struct loss_span reading;   /* from the reading of the counters before to the last one */
	uint64_t next_from_ns;	    /* no later than anything that the last one did not see */
	uint64_t unreadable;	    /* records in unreadable frames, as their cells say */
	uint64_t counters_saved_ns; /* CLOCK_MONOTONIC */
};

/* Empties @ledger and reads it from the database. -ENOMEM, or as database_errno(). */
int ledger_load(struct ledger *ledger, struct statements *statements);
void ledger_done(struct ledger *ledger);

/* May there be books of @queue: are there, or has its tenant memory for them? */
bool ledger_has_room(const struct ledger *ledger, uint32_t queue);

/* The queue's books, made on first sight; stable until ledger_load(). NULL: no memory. */
struct ledger_queue *ledger_queue(struct ledger *ledger, uint32_t queue);

/*
 * Counters follow that were read between these two times of CLOCK_BOOTTIME; what rose since the
 * reading before it did so in between. The same @begun_ns again: of the same reading. 0: now.
 */
void ledger_begin_reading(struct ledger *ledger, uint64_t begun_ns, uint64_t ended_ns);

/* A row without a time, submitted at @submit_ns (0: unknown). */
void ledger_count_untimed(
	struct ledger_queue *queue, unsigned why, uint64_t seq, uint64_t submit_ns);

/* One that its tenant may not store. */
void ledger_count_over_quota(struct ledger_queue *queue, uint64_t seq, uint64_t submit_ns);

/* Takes cumulative counters; a value never goes back. @gpus: gpuId by index. -ENOMEM, -EBADMSG. */
int ledger_take_counters(struct ledger *ledger, const Rtl__Counters *counters, const uint32_t *gpus,
	unsigned gpu_count);

/* The same from a recorder. -ENOMEM. */
int ledger_take_process(struct ledger *ledger, const uint64_t *value, unsigned count);
int ledger_take_queue(struct ledger *ledger, uint32_t queue, bool has_gpu, uint32_t gpu_id,
	const uint64_t *value, unsigned count);

/*
 * Nothing more will come: what is still pending was lost in the unreadable frames, or else torn.
 * With @is_alive it is in flight in a process that nobody waits for: outstanding.
 * Not for a process whose tail is unknown.
 */
void ledger_settle(struct ledger *ledger, bool is_alive);

/*
 * The process goes on in another file, which has none of its @frames frames: what the shim
 * counted stays, all rows are gone. -ENOMEM.
 */
int ledger_move(struct ledger *ledger, uint64_t frames);

/* Likewise, of one whose records nobody could store: all that is pending is lost to @why. */
void ledger_give_up(struct ledger *ledger, enum ledger_loss why);

/* Writes what changed; the counters at most once a second, unless @all. database_errno(). */
int ledger_save(struct ledger *ledger, struct statements *statements, bool all);

/* All of it, as long as *@rows are left, which are taken off: LEDGER_MORE where more is to be
 * written. In one transaction. */
#define LEDGER_MORE 1
int ledger_save_part(struct ledger *ledger, struct statements *statements, uint64_t *rows);

uint64_t ledger_queue_dispatched(const struct ledger_queue *queue);
uint64_t ledger_queue_skipped(const struct ledger_queue *queue);
uint64_t ledger_queue_dropped(const struct ledger_queue *queue);
/* Dispatches that have their place: stored, outstanding, dropped, skipped or torn. */
uint64_t ledger_queue_accounted(const struct ledger_queue *queue);

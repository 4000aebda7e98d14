/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The losses of one process: for each queue and reason, how much was lost and when. The caller
 * passes totals that only grow; the increase goes into an interval of time in which it was lost.
 * Adjoining intervals are joined; if there are too many, the two closest ones are, so that no
 * process makes them grow without bound. Rows: rtl_loss_interval, and one for each reason in
 * rtl_loss. Store thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectord/db/rows/statements.h"
#include "proto/base/limits.h"

/* rtl_loss_interval_base.queueId for losses of a whole process. */
#define LOSSES_NO_QUEUE (-1)

/* When it was lost, and between which dispatches of the queue. */
struct loss_span {
	uint64_t from_ns; /* CLOCK_BOOTTIME; 0: unknown */
	uint64_t to_ns;
	bool has_seq;
	uint64_t first_seq; /* no loss is before it */
	uint64_t last_seq;  /* no loss is after it */
};

struct loss_entry;
struct loss_sum;

struct losses {
	struct loss_entry *entries; /* by queue and reason */
	struct loss_sum *sums;	    /* by reason */
};

/* Upper bound for the memory of one reason of one queue. */
size_t losses_entry_bytes(void);

void losses_done(struct losses *losses);

/*
 * Notes that @total were lost in @queue so far for @reason, a literal whose pointer is kept.
 * -ENOMEM: nothing was noted; the next call makes up for it.
 */
int losses_note(struct losses *losses, int64_t queue, const char *reason, uint64_t total,
	const struct loss_span *span);

/* Returns the total noted so far. */
uint64_t losses_total(const struct losses *losses, int64_t queue, const char *reason);

/*
 * Reads the rows of a process; @known returns the literal of a reason, or NULL if it is not one of
 * ours. @losses must be empty. -ENOMEM, database_errno().
 */
int losses_load(struct losses *losses, int64_t process_id, struct statements *statements,
	const char *(*known)(const char *reason));

/* Writes what has changed. @uncounted is the reason whose count is unknown. database_errno(). */
int losses_save(struct losses *losses, int64_t process_id, struct statements *statements,
	const char *uncounted);

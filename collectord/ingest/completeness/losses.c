/* SPDX-License-Identifier: MIT */
#include "collectord/ingest/completeness/losses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectord/db/database.h"
#include "collectord/db/hash.h"

struct interval {
	uint64_t count;
	struct loss_span span;
};

struct loss_key {
	int64_t queue;
	const char *reason;
};

/* The sum of one reason over all queues: one row. */
struct loss_sum {
	UT_hash_handle hh;
	const char *reason;
	bool is_lost; /* the hash table could not grow for it */
	bool is_dirty;
	uint64_t count;
	uint64_t from_ns, to_ns; /* 0: unknown */
};

struct loss_entry {
	UT_hash_handle hh;
	struct loss_key key;
	struct loss_sum *sum;
	bool is_lost; /* the hash table could not grow for it */
	bool is_dirty;
	uint64_t total;
	unsigned intervals;
	unsigned saved; /* number of intervals that are in the database as they are here */
	/* One more than is kept, until the two closest are joined. */
	struct interval interval[LOSS_INTERVALS_MAX + 1];
};

size_t losses_entry_bytes(void)
{
	return sizeof(struct loss_entry);
}

void losses_done(struct losses *losses)
{
	struct loss_entry *entry, *next;
	struct loss_sum *sum, *next_sum;

	HASH_ITER (hh, losses->entries, entry, next) {
		HASH_DEL(losses->entries, entry);
		free(entry);
	}
	HASH_ITER (hh, losses->sums, sum, next_sum) {
		HASH_DEL(losses->sums, sum);
		free(sum);
	}
}

static struct loss_entry *find(const struct losses *losses, int64_t queue, const char *reason)
{
	struct loss_key key = {.queue = queue, .reason = reason};
	struct loss_entry *entry;

	HASH_FIND(hh, losses->entries, &key, sizeof(key), entry);
	return entry;
}

static struct loss_sum *find_or_add_sum(struct losses *losses, const char *reason)
{
	struct loss_sum *sum;

	HASH_FIND(hh, losses->sums, &reason, sizeof(reason), sum);
	if (sum)
		return sum;
	sum = calloc(1, sizeof(*sum));
	if (!sum)
		return NULL;
	sum->reason = reason;
	HASH_ADD(hh, losses->sums, reason, sizeof(sum->reason), sum);
	if (sum->is_lost) {
		free(sum);
		return NULL;
	}
	return sum;
}

static struct loss_entry *find_or_add(struct losses *losses, int64_t queue, const char *reason)
{
	struct loss_entry *entry = find(losses, queue, reason);
	struct loss_sum *sum = entry ? entry->sum : find_or_add_sum(losses, reason);

	if (entry || !sum)
		return entry;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return NULL;
	entry->sum = sum;
	entry->key = (struct loss_key){.queue = queue, .reason = reason};
	HASH_ADD(hh, losses->entries, key, sizeof(entry->key), entry);
	if (entry->is_lost) {
		free(entry);
		return NULL;
	}
	return entry;
}

uint64_t losses_total(const struct losses *losses, int64_t queue, const char *reason)
{
	const struct loss_entry *entry = find(losses, queue, reason);

	return entry ? entry->total : 0;
}

/* ---- intervals --------------------------------------------------------------------------- */

static void join(struct interval *into, const struct interval *later)
{
	struct loss_span *a = &into->span;
	const struct loss_span *b = &later->span;

	/* The whole has sequence numbers only if both parts have them. */
	a->has_seq = a->has_seq && b->has_seq;
	if (b->first_seq < a->first_seq)
		a->first_seq = b->first_seq;
	if (b->last_seq > a->last_seq)
		a->last_seq = b->last_seq;
	if (b->from_ns < a->from_ns)
		a->from_ns = b->from_ns;
	if (b->to_ns > a->to_ns)
		a->to_ns = b->to_ns;
	into->count += later->count;
}

/* Returns the gap between interval @i - 1 and interval @i. */
static uint64_t gap(const struct loss_entry *entry, unsigned i)
{
	uint64_t end = entry->interval[i - 1].span.to_ns;
	uint64_t begin = entry->interval[i].span.from_ns;

	return begin > end ? begin - end : 0;
}

static void join_at(struct loss_entry *entry, unsigned i)
{
	join(&entry->interval[i - 1], &entry->interval[i]);
	memmove(&entry->interval[i], &entry->interval[i + 1],
		(entry->intervals - i - 1) * sizeof(entry->interval[0]));
	entry->intervals--;
	if (entry->saved > i - 1)
		entry->saved = i - 1;
}

/* Of two equal gaps the later one is chosen, so that fewer rows are written again. */
static unsigned closest(const struct loss_entry *entry)
{
	unsigned best = 1;

	for (unsigned i = 2; i < entry->intervals; i++)
		if (gap(entry, i) <= gap(entry, best))
			best = i;
	return best;
}

static void add(struct loss_entry *entry, uint64_t count, const struct loss_span *span)
{
	unsigned last = entry->intervals++;

	entry->interval[last] = (struct interval){.count = count, .span = *span};
	entry->is_dirty = true;
	if (last > 0 && gap(entry, last) <= LOSS_JOIN_NS)
		join_at(entry, last);
	else if (entry->intervals > LOSS_INTERVALS_MAX)
		join_at(entry, closest(entry));
}

static void add_to_sum(struct loss_sum *sum, uint64_t count, const struct loss_span *span)
{
	sum->count += count;
	if (span->from_ns && (!sum->from_ns || span->from_ns < sum->from_ns))
		sum->from_ns = span->from_ns;
	if (span->to_ns > sum->to_ns)
		sum->to_ns = span->to_ns;
}

int losses_note(struct losses *losses, int64_t queue, const char *reason, uint64_t total,
	const struct loss_span *span)
{
	struct loss_entry *entry;

	if (total <= losses_total(losses, queue, reason))
		return 0;
	entry = find_or_add(losses, queue, reason);
	if (!entry)
		return -ENOMEM;
	add(entry, total - entry->total, span);
	add_to_sum(entry->sum, total - entry->total, span);
	entry->sum->is_dirty = true;
	entry->total = total;
	return 0;
}

/* ---- rows -------------------------------------------------------------------------------- */

static int load_row(
	struct losses *losses, sqlite3_stmt *all, const char *(*known)(const char *reason))
{
	const char *text = (const char *)sqlite3_column_text(all, 1);
	const char *reason = text ? known(text) : NULL;
	struct interval row = {
		.count = (uint64_t)sqlite3_column_int64(all, 2),
		.span = {.from_ns = (uint64_t)sqlite3_column_int64(all, 3),
			.to_ns = (uint64_t)sqlite3_column_int64(all, 4),
			.has_seq = sqlite3_column_type(all, 5) != SQLITE_NULL,
			.first_seq = (uint64_t)sqlite3_column_int64(all, 5),
			.last_seq = (uint64_t)sqlite3_column_int64(all, 6)},
	};
	struct loss_entry *entry;

	if (!reason)
		return 0;
	entry = find_or_add(losses, sqlite3_column_int64(all, 0), reason);
	if (!entry)
		return -ENOMEM;
	if (entry->intervals == LOSS_INTERVALS_MAX)
		return 0; /* not written by us: we never write more */
	entry->interval[entry->intervals++] = row;
	entry->saved = entry->intervals;
	entry->total += row.count;
	add_to_sum(entry->sum, row.count, &row.span);
	return 0;
}

int losses_load(struct losses *losses, int64_t process_id, struct statements *statements,
	const char *(*known)(const char *reason))
{
	sqlite3_stmt *all = statements->at[ST_LOSS_INTERVAL_ALL];
	int r = 0, step;

	sqlite3_bind_int64(all, 1, process_id);
	while ((step = sqlite3_step(all)) == SQLITE_ROW && r == 0)
		r = load_row(losses, all, known);
	sqlite3_reset(all);
	return r < 0 ? r : database_errno(step);
}

static int save_interval(
	const struct loss_entry *entry, unsigned i, int64_t process_id, sqlite3_stmt *put)
{
	const struct interval *row = &entry->interval[i];
	bool has_seq = row->span.has_seq;

	sqlite3_bind_int64(put, 1, process_id);
	sqlite3_bind_int64(put, 2, entry->key.queue);
	sqlite3_bind_text(put, 3, entry->key.reason, -1, SQLITE_STATIC);
	sqlite3_bind_int64(put, 4, i);
	sqlite3_bind_int64(put, 5, (int64_t)row->count);
	database_bind_optional(put, 6, row->span.from_ns > 0, (int64_t)row->span.from_ns);
	database_bind_optional(put, 7, row->span.to_ns > 0, (int64_t)row->span.to_ns);
	database_bind_optional(put, 8, has_seq, (int64_t)row->span.first_seq);
	database_bind_optional(put, 9, has_seq, (int64_t)row->span.last_seq);
	return database_run(put);
}

static int save_entry(struct loss_entry *entry, int64_t process_id, sqlite3_stmt *put)
{
	int r = 0;

	for (unsigned i = entry->saved; r == 0 && i < entry->intervals; i++)
		r = save_interval(entry, i, process_id, put);
	/* The last interval may still grow. */
	if (r == 0)
		entry->saved = entry->intervals - 1;
	return r;
}

static int save_sum(
	const struct loss_sum *sum, int64_t process_id, bool is_counted, sqlite3_stmt *put)
{
	sqlite3_bind_int64(put, 1, process_id);
	sqlite3_bind_text(put, 2, sum->reason, -1, SQLITE_STATIC);
	database_bind_optional(put, 3, is_counted, (int64_t)sum->count);
	database_bind_optional(put, 4, sum->from_ns > 0, (int64_t)sum->from_ns);
	database_bind_optional(put, 5, sum->to_ns > 0, (int64_t)sum->to_ns);
	return database_run(put);
}

static int save_sums(
	struct losses *losses, int64_t process_id, sqlite3_stmt *put, const char *uncounted)
{
	struct loss_sum *sum, *next;

	HASH_ITER (hh, losses->sums, sum, next) {
		int r;

		if (!sum->is_dirty)
			continue;
		r = save_sum(sum, process_id, sum->reason != uncounted, put);
		if (r < 0)
			return r;
		sum->is_dirty = false;
	}
	return 0;
}

int losses_save(struct losses *losses, int64_t process_id, struct statements *statements,
	const char *uncounted)
{
	struct loss_entry *entry, *next;

	HASH_ITER (hh, losses->entries, entry, next) {
		int r;

		if (!entry->is_dirty)
			continue;
		r = save_entry(entry, process_id, statements->at[ST_LOSS_INTERVAL_PUT]);
		if (r < 0)
			return r;
		entry->is_dirty = false;
	}
	return save_sums(losses, process_id, statements->at[ST_LOSS_PUT], uncounted);
}

/* SPDX-License-Identifier: MIT */
#include "collectord/losses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectord/database.h"
#include "collectord/hash.h"

struct interval {
	uint64_t count;
	struct loss_span span;
};

struct loss_key {
	int64_t queue;
	const char *reason;
};

struct loss_entry {
	UT_hash_handle hh;
	struct loss_key key;
	bool is_lost; /* the table could not grow for it */
	bool is_dirty;
	uint64_t total;
	unsigned intervals;
	unsigned saved; /* rows before this one are as in the database */
	/* One more than are kept, until the closest two are joined. */
	struct interval interval[LOSS_INTERVALS_MAX + 1];
};

size_t losses_entry_bytes(void)
{
	return sizeof(struct loss_entry);
}

void losses_done(struct losses *losses)
{
	struct loss_entry *entry, *next;

	HASH_ITER (hh, losses->entries, entry, next) {
		HASH_DEL(losses->entries, entry);
		free(entry);
	}
}

static struct loss_entry *find(const struct losses *losses, int64_t queue, const char *reason)
{
	struct loss_key key = {.queue = queue, .reason = reason};
	struct loss_entry *entry;

	HASH_FIND(hh, losses->entries, &key, sizeof(key), entry);
	return entry;
}

static struct loss_entry *find_or_add(struct losses *losses, int64_t queue, const char *reason)
{
	struct loss_entry *entry = find(losses, queue, reason);

	if (entry)
		return entry;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return NULL;
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

	/* Not known of a part is not known of the whole. */
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

/* From the end of interval @i - 1 to the beginning of @i. */
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

/* The later of two that are equally close: less is written again. */
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
	entry->total = total;
	return 0;
}

/* ---- rows -------------------------------------------------------------------------------- */

static int load_row(struct losses *losses, sqlite3_stmt *all,
	const char *(*known)(const char *reason))
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
		return 0; /* written by nobody of ours */
	entry->interval[entry->intervals++] = row;
	entry->saved = entry->intervals;
	entry->total += row.count;
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
	/* The last one may still grow. */
	if (r == 0)
		entry->saved = entry->intervals - 1;
	return r;
}

/* The one row of a reason, of all queues. */
static int save_sum(const struct losses *losses, const char *reason, int64_t process_id,
	bool is_counted, sqlite3_stmt *put)
{
	uint64_t count = 0, from_ns = 0, to_ns = 0;

	for (const struct loss_entry *e = losses->entries; e; e = e->hh.next) {
		if (e->key.reason != reason)
			continue;
		count += e->total;
		for (unsigned i = 0; i < e->intervals; i++) {
			const struct loss_span *span = &e->interval[i].span;

			if (span->from_ns && (!from_ns || span->from_ns < from_ns))
				from_ns = span->from_ns;
			if (span->to_ns > to_ns)
				to_ns = span->to_ns;
		}
	}
	sqlite3_bind_int64(put, 1, process_id);
	sqlite3_bind_text(put, 2, reason, -1, SQLITE_STATIC);
	database_bind_optional(put, 3, is_counted, (int64_t)count);
	database_bind_optional(put, 4, from_ns > 0, (int64_t)from_ns);
	database_bind_optional(put, 5, to_ns > 0, (int64_t)to_ns);
	return database_run(put);
}

int losses_save(struct losses *losses, int64_t process_id, struct statements *statements,
	const char *uncounted)
{
	struct loss_entry *entry, *next;
	int r;

	HASH_ITER (hh, losses->entries, entry, next) {
		if (!entry->is_dirty)
			continue;
		r = save_entry(entry, process_id, statements->at[ST_LOSS_INTERVAL_PUT]);
		if (r == 0)
			r = save_sum(losses, entry->key.reason, process_id,
				entry->key.reason != uncounted, statements->at[ST_LOSS_PUT]);
		if (r < 0)
			return r;
		entry->is_dirty = false;
	}
	return 0;
}

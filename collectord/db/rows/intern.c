/* SPDX-License-Identifier: MIT */
#include "collectord/db/rows/intern.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collectord/db/database.h"
#include "collectord/db/rows/row_feed.h"
#include "collectord/db/hash.h"
#include "collectord/db/rows/text.h"
#include "proto/base/cleanup.h"
#include "proto/base/limits.h"

/* Memory that uthash needs for each entry. */
#define HASH_BYTES  32u
/* Memory of a table that has any entry. */
#define TABLE_BYTES 640u

struct intern_text {
	UT_hash_handle hh;
	int64_t id;
	bool is_lost; /* the table could not grow for it */
	char text[];
};

struct intern_shape {
	UT_hash_handle hh;
	int64_t id;
	bool is_lost;
	struct intern_shape_key key;
};

/* Each process has a table of its own: its entries are close in memory, and are freed with it. */
struct intern_process {
	UT_hash_handle hh;
	int64_t id;
	bool is_lost;
	uint64_t charged;
	struct intern_shape *shapes;
};

static void charge(struct intern *intern, size_t bytes)
{
	intern->charged += bytes;
	quota_charge(intern->account, (int64_t)bytes);
}

static void give_back(struct intern *intern, size_t bytes)
{
	intern->charged -= bytes;
	quota_charge(intern->account, -(int64_t)bytes);
}

void intern_set_account(struct intern *intern, struct quota_account *account)
{
	quota_charge(intern->account, -(int64_t)intern->charged);
	intern->account = account;
	quota_charge(account, (int64_t)intern->charged);
}

uint64_t intern_take_overflowed(struct intern *intern)
{
	uint64_t count = intern->overflowed;

	intern->overflowed = 0;
	return count;
}

static void drop_texts(struct intern_text **texts)
{
	struct intern_text *entry, *next;

	HASH_ITER (hh, *texts, entry, next) {
		HASH_DEL(*texts, entry);
		free(entry);
	}
}

static void drop_process(struct intern *intern, struct intern_process *process)
{
	struct intern_shape *shape, *next;

	HASH_ITER (hh, process->shapes, shape, next) {
		HASH_DEL(process->shapes, shape);
		free(shape);
	}
	HASH_DEL(intern->processes, process);
	intern->last_process = NULL;
	give_back(intern, process->charged);
	free(process);
}

void intern_done(struct intern *intern)
{
	struct intern_process *process, *next;

	drop_texts(&intern->texts);
	drop_texts(&intern->kernels);
	HASH_ITER (hh, intern->processes, process, next)
		drop_process(intern, process);
	give_back(intern, intern->charged);
	intern->names = 0;
	memset(intern->apis, 0, sizeof(intern->apis));
}

/* How many names a text of @bytes counts as; even an empty one counts as one. */
static unsigned weigh(size_t bytes)
{
	return 1 + (unsigned)(bytes / NAME_PART_BYTES);
}

/* @stored: how many bytes the database stores for it. */
static int add_text(struct intern *intern, struct intern_text **texts, const char *text,
	size_t stored, int64_t id)
{
	size_t bytes = strlen(text);
	struct intern_text *entry = calloc(1, sizeof(*entry) + bytes + 1);

	if (!entry)
		return -ENOMEM;
	memcpy(entry->text, text, bytes + 1);
	entry->id = id;
	HASH_ADD_KEYPTR(hh, *texts, entry->text, bytes, entry);
	if (entry->is_lost) {
		free(entry);
		return -ENOMEM;
	}
	intern->names += weigh(stored);
	charge(intern, sizeof(*entry) + bytes + HASH_BYTES);
	return 0;
}

static struct intern_process *find_process(struct intern *intern, int64_t id)
{
	struct intern_process *process = intern->last_process;

	if (process && process->id == id)
		return process;
	HASH_FIND(hh, intern->processes, &id, sizeof(id), process);
	intern->last_process = process;
	return process;
}

static void charge_process(struct intern *intern, struct intern_process *process, size_t bytes)
{
	process->charged += bytes;
	charge(intern, bytes);
}

/* NULL: no memory. */
static struct intern_process *get_process(struct intern *intern, int64_t id)
{
	struct intern_process *process = find_process(intern, id);

	if (process)
		return process;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->id = id;
	HASH_ADD(hh, intern->processes, id, sizeof(process->id), process);
	if (process->is_lost) {
		free(process);
		return NULL;
	}
	charge_process(intern, process, sizeof(*process) + HASH_BYTES + TABLE_BYTES);
	return process;
}

static unsigned hash_shape(const struct intern_shape_key *key)
{
	return hash_bytes(key, sizeof(*key));
}

/* @process: NULL, or the one of @key. */
static int add_shape(struct intern *intern, struct intern_process *process,
	const struct intern_shape_key *key, unsigned hash, int64_t id)
{
	struct intern_shape *entry;

	/* An entry that is left out costs a second row for the same shape if it is seen again. */
	if (!quota_has_memory(intern->account, sizeof(*entry) + HASH_BYTES, QUOTA_CACHE))
		return 0;
	process = process ? process : get_process(intern, key->process_id);
	entry = process ? calloc(1, sizeof(*entry)) : NULL;
	if (!entry)
		return -ENOMEM;
	entry->key = *key;
	entry->id = id;
	HASH_ADD_KEYPTR_BYHASHVALUE(
		hh, process->shapes, &entry->key, sizeof(entry->key), hash, entry);
	if (entry->is_lost) {
		free(entry);
		return -ENOMEM;
	}
	charge_process(intern, process, sizeof(*entry) + HASH_BYTES);
	return 0;
}

static int64_t find_shape(
	const struct intern_process *process, const struct intern_shape_key *key, unsigned hash)
{
	struct intern_shape *entry = NULL;

	if (process)
		HASH_FIND_BYHASHVALUE(hh, process->shapes, key, sizeof(*key), hash, entry);
	return entry ? entry->id : 0;
}

void intern_forget_process(struct intern *intern, int64_t process_id)
{
	struct intern_process *process = find_process(intern, process_id);

	if (process)
		drop_process(intern, process);
}

static struct intern_text *find_text(struct intern_text *texts, const char *text)
{
	struct intern_text *entry;

	HASH_FIND(hh, texts, text, strlen(text), entry);
	return entry;
}

static int load_texts(struct intern *intern)
{
	sqlite3_stmt *all = intern->statements->at[ST_TEXT_ALL];
	int r = 0, step;

	while ((step = sqlite3_step(all)) == SQLITE_ROW && r == 0) {
		const char *text = (const char *)sqlite3_column_text(all, 1);
		const char *symbol = (const char *)sqlite3_column_text(all, 2);
		int64_t id = sqlite3_column_int64(all, 0);

		if (symbol)
			r = add_text(intern, &intern->kernels, symbol,
				strlen(symbol) + (text ? strlen(text) : 0), id);
		else if (text && !find_text(intern->texts, text))
			r = add_text(intern, &intern->texts, text, strlen(text), id);
	}
	sqlite3_reset(all);
	return r < 0 ? r : database_errno(step);
}

static int load_shapes(struct intern *intern)
{
	sqlite3_stmt *all = intern->statements->at[ST_SHAPE_ALL];
	int r = 0, step;

	while ((step = sqlite3_step(all)) == SQLITE_ROW && r == 0) {
		struct intern_shape_key key = {
			.process_id = sqlite3_column_int64(all, 1),
			.gpu_id = (uint32_t)sqlite3_column_int64(all, 2),
			.queue = (uint32_t)sqlite3_column_int64(all, 3),
			.kernel_id = sqlite3_column_int64(all, 4),
			.lds = (uint32_t)sqlite3_column_int64(all, 11),
			.scratch = (uint32_t)sqlite3_column_int64(all, 12),
		};

		for (int i = 0; i < 3; i++) {
			key.workgroup[i] = (uint32_t)sqlite3_column_int64(all, 5 + i);
			key.grid[i] = (uint32_t)sqlite3_column_int64(all, 8 + i);
		}
		r = add_shape(intern, find_process(intern, key.process_id), &key, hash_shape(&key),
			sqlite3_column_int64(all, 0));
	}
	sqlite3_reset(all);
	return r < 0 ? r : database_errno(step);
}

/* Ids go up by one for the life of a file, and one feed inserts them all. No file of ours comes
 * near half the greatest id. */
static int load_last_shape(struct intern *intern)
{
	int r;

	intern->last_shape = 0;
	r = database_read(intern->statements->at[ST_SHAPE_LAST], &intern->last_shape);
	if (intern->last_shape < 0 || intern->last_shape > FEED_SHAPE_ID_MAX / 2)
		return -EUCLEAN;
	return r < 0 ? r : 0;
}

int intern_load(struct intern *intern)
{
	int r;

	intern_done(intern);
	r = load_texts(intern);
	if (r == 0)
		r = load_shapes(intern);
	return r < 0 ? r : load_last_shape(intern);
}

static int insert_text(struct intern *intern, const char *text, int64_t *ret_id)
{
	sqlite3_stmt *put = intern->statements->at[ST_TEXT_PUT];
	int r;

	database_bind_text(put, 1, text);
	r = database_run(put);
	if (r == 0)
		*ret_id = sqlite3_last_insert_rowid(intern->db);
	return r;
}

/* Takes quota for @text, of which the database will store @stored bytes. False: there is none, and
 * the caller uses INTERN_OVERFLOW. */
static bool take_room(struct intern *intern, const char *text, size_t stored)
{
	unsigned weight = weigh(stored);

	if (intern->names + weight <= SESSION_NAMES_MAX &&
		quota_has_memory(
			intern->account, sizeof(struct intern_text) + strlen(text), QUOTA_NAMES) &&
		quota_take_name(intern->quota, weight))
		return true;
	intern->overflowed++;
	return false;
}

int intern_put_text(struct intern *intern, const char *text, int64_t *ret_id)
{
	struct intern_text *entry = find_text(intern->texts, text);
	int64_t id;
	int r;

	if (!entry && !take_room(intern, text, strlen(text))) {
		text = INTERN_OVERFLOW;
		entry = find_text(intern->texts, text);
	}
	if (entry) {
		*ret_id = entry->id;
		return 0;
	}
	r = insert_text(intern, text, &id);
	if (r == 0)
		r = add_text(intern, &intern->texts, text, strlen(text), id);
	if (r == 0)
		*ret_id = id;
	return r;
}

static int insert_kernel(
	struct intern *intern, const char *symbol, const char *name, int64_t *ret_id)
{
	sqlite3_stmt *put = intern->statements->at[ST_KERNEL_PUT];
	int r = insert_text(intern, name, ret_id);

	if (r < 0)
		return r;
	sqlite3_bind_int64(put, 1, *ret_id);
	database_bind_text(put, 2, symbol);
	r = database_run(put);
	if (r == 0)
		r = add_text(
			intern, &intern->kernels, symbol, strlen(symbol) + strlen(name), *ret_id);
	return r;
}

int intern_put_kernel(struct intern *intern, const char *symbol, int64_t *ret_id)
{
	struct intern_text *entry = find_text(intern->kernels, symbol);
	CLEANUP(free_p) char *demangled = NULL;
	const char *name = INTERN_OVERFLOW;
	int64_t id = 0;
	int r;

	if (!entry) {
		demangled = text_demangle(symbol, &intern->stopped);
		if (!demangled)
			return -ENOMEM;
		if (take_room(intern, symbol, strlen(symbol) + strlen(demangled)))
			name = demangled;
		else
			entry = find_text(intern->kernels, name);
	}
	if (!entry) {
		r = insert_kernel(intern, name == demangled ? symbol : name, name, &id);
		if (r == 0)
			*ret_id = id;
		return r;
	}
	*ret_id = entry->id;
	return 0;
}

int intern_put_api(struct intern *intern, uint32_t api, const char *name, const char *arguments,
	int64_t *ret_id)
{
	sqlite3_stmt *put = intern->statements->at[ST_API_PUT];
	int r = 0;

	if (!intern->apis[api]) {
		r = intern_put_text(intern, name, ret_id);
		if (r < 0)
			return r;
		sqlite3_bind_int64(put, 1, *ret_id);
		database_bind_text(put, 2, arguments);
		r = database_run(put);
		if (r == 0)
			intern->apis[api] = *ret_id;
	}
	*ret_id = intern->apis[api];
	return r;
}

int intern_put_shape(struct intern *intern, const struct intern_shape_key *key, int64_t *ret_id)
{
	struct intern_process *process = find_process(intern, key->process_id);
	int64_t id = process ? find_shape(process, key, hash_shape(key)) : 0;
	int r;

	if (id) {
		*ret_id = id;
		return 0;
	}
	id = intern->last_shape + 1;
	r = feed_put_shape(intern->feed,
		(const int64_t[FEED_SHAPE_COLUMNS]){id, key->process_id, key->gpu_id, key->queue,
			key->kernel_id, key->workgroup[0], key->workgroup[1], key->workgroup[2],
			key->grid[0], key->grid[1], key->grid[2], key->lds, key->scratch});
	if (r < 0)
		return r;
	intern->last_shape = id;
	*ret_id = id;
	return 0;
}

int intern_keep_shape(struct intern *intern, const struct intern_shape_key *key, int64_t id)
{
	struct intern_process *process = find_process(intern, key->process_id);
	unsigned hash = hash_shape(key);

	return find_shape(process, key, hash) ? 0 : add_shape(intern, process, key, hash, id);
}

/* SPDX-License-Identifier: MIT */
#include "collectord/ingest/process/ranks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectord/db/database.h"
#include "collectord/db/rows/text.h"
#include "collectord/ingest/process/process.h"
#include "proto/base/cleanup.h"
#include "proto/base/limits.h"
#include "proto/base/process_stat.h"

/* ---- contested ranks --------------------------------------------------------------------- */

/* A process while its rank is being resolved. */
struct contender {
	struct rank_claim *claim;
	bool is_by_comm;   /* its candidate comes from the communicator */
	bool is_contested; /* another process has the same rank at the same time on other GPUs */
	struct rank_number_of candidate;
};

/* A key that several processes may share, with a value of each. */
struct shared {
	uint64_t key;
	int64_t value;
};

static int compare_shared(const void *a, const void *b)
{
	const struct shared *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->value < y->value ? -1 : x->value > y->value;
}

static bool has_shared(const struct shared *set, size_t count, uint64_t key)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (set[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && set[low].key == key;
}

/* Sorts @set and keeps only keys that have the same value twice. Returns how many are left. */
static size_t keep_repeated(struct shared *set, size_t count)
{
	size_t kept = 0;

	qsort(set, count, sizeof(*set), compare_shared);
	for (size_t i = 1; i < count; i++)
		if (!compare_shared(&set[i - 1], &set[i]) &&
			(!kept || set[kept - 1].key != set[i].key))
			set[kept++] = set[i];
	return kept;
}

/*
 * If the communicator is larger than the world that the launcher named, the launcher was not that
 * of this job.
 */
static bool is_declared_outside(const struct rank_claim *claim)
{
	return claim->comm_size.is_known && claim->world_size.is_known &&
	       claim->comm_size.value > claim->world_size.value;
}

static void choose_candidate(struct contender *c, bool is_declared_twice)
{
	const struct rank_claim *claim = c->claim;

	c->is_by_comm =
		claim->comm_rank.is_known &&
		(!claim->declared.is_known || is_declared_twice || is_declared_outside(claim));
	c->candidate = c->is_by_comm ? claim->comm_rank : claim->declared;
	/* Ranks of its communicator that were told the same may have ended too long ago. */
	if (claim->is_final && claim->rank.is_known)
		c->candidate = claim->rank;
	/* A process with several ranks of the communicator has no rank. */
	if (claim->comm.is_known && !claim->comm_rank.is_known && is_declared_outside(claim))
		c->candidate.is_known = false;
}

/* If ranks of one communicator were told the same number, it came from a process around them. */
static void choose_candidates(struct contender *all, size_t count, struct shared *set)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (all[i].claim->comm.is_known && all[i].claim->declared.is_known)
			set[n++] = (struct shared){
				(uint64_t)all[i].claim->comm.value, all[i].claim->declared.value};
	n = keep_repeated(set, n);
	for (size_t i = 0; i < count; i++)
		choose_candidate(
			&all[i], all[i].claim->comm.is_known &&
					 has_shared(set, n, (uint64_t)all[i].claim->comm.value));
}

static bool descends_from(const struct rank_claim *a, const struct rank_claim *b)
{
	if (!b->n_ancestors)
		return false;
	for (unsigned i = 1; i < a->n_ancestors; i++)
		if (a->ancestors[i] == b->ancestors[0])
			return true;
	return false;
}

/*
 * True if both have the rank but only one can be it: they live at the same time, on different GPUs,
 * and neither is a helper that the other has started, nor a restart of it.
 */
static bool contest(const struct rank_claim *a, const struct rank_claim *b)
{
	if (a->start_ns >= b->end_ns || b->start_ns >= a->end_ns)
		return false;
	if (!a->gpus || !b->gpus || (a->gpus & b->gpus))
		return false;
	if (a->attempt.is_known && b->attempt.is_known && a->attempt.value != b->attempt.value)
		return false;
	return !descends_from(a, b) && !descends_from(b, a);
}

static int compare_candidates(const void *a, const void *b)
{
	const struct contender *x = a, *y = b;

	if (x->candidate.is_known != y->candidate.is_known)
		return x->candidate.is_known ? -1 : 1;
	if (x->candidate.value != y->candidate.value)
		return x->candidate.value < y->candidate.value ? -1 : 1;
	return x->claim->process_id < y->claim->process_id ? -1 : 1;
}

/* Marks the contested ranks in @all, which is sorted by rank. */
static void find_contested(struct contender *all, size_t count)
{
	for (size_t i = 0; i < count && all[i].candidate.is_known; i++) {
		const struct rank_claim *claim = all[i].claim;

		/* The other process of its rank may have ended too long ago to be compared. */
		if (claim->is_final && !claim->rank.is_known)
			all[i].is_contested = true;
		for (size_t k = i + 1; k < count && all[k].candidate.is_known &&
				       all[k].candidate.value == all[i].candidate.value;
			k++)
			if (contest(claim, all[k].claim))
				all[i].is_contested = all[k].is_contested = true;
	}
}

/* ---- groups ------------------------------------------------------------------------------- */

/* Lists the ancestors below which two processes have the same contested rank. Returns how many. */
static size_t find_crowded(const struct contender *all, size_t count, struct shared *set)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		for (unsigned a = 0; all[i].is_contested && a < all[i].claim->n_ancestors; a++)
			set[n++] =
				(struct shared){all[i].claim->ancestors[a], all[i].candidate.value};
	return keep_repeated(set, n);
}

/*
 * Returns the highest ancestor of @claim below which each rank occurs once, or 0 if it is unknown.
 */
static uint64_t find_engine(
	const struct rank_claim *claim, const struct shared *crowded, size_t n_crowded)
{
	uint64_t engine = 0;

	for (unsigned a = 0; a < claim->n_ancestors; a++) {
		if (has_shared(crowded, n_crowded, claim->ancestors[a]))
			break;
		engine = claim->ancestors[a];
	}
	/* It names a larger world but is alone, so its group cannot be found this way. */
	if (claim->n_ancestors && engine == claim->ancestors[0] && claim->world_size.is_known &&
		claim->world_size.value > 1)
		return 0;
	return engine;
}

static struct rank_number_of known(uint64_t value)
{
	return (struct rank_number_of){true, (int64_t)(value & INT64_MAX)};
}

/* The group is the communicator, else the engine. */
static struct rank_number_of group_of(
	const struct contender *c, const struct shared *crowded, size_t n_crowded)
{
	uint64_t engine;

	if (c->claim->is_final)
		return c->claim->group;
	if (c->claim->comm.is_known)
		return c->claim->comm;
	if (!c->is_contested)
		return (struct rank_number_of){false, 0};
	engine = find_engine(c->claim, crowded, n_crowded);
	return engine ? known(engine) : (struct rank_number_of){false, 0};
}

/* Lists the groups with a contested rank, sorted. Returns how many. */
static size_t list_contested_groups(const struct contender *all, size_t count, struct shared *set)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (all[i].is_contested && all[i].claim->group.is_known)
			set[n++] = (struct shared){(uint64_t)all[i].claim->group.value, 0};
	qsort(set, n, sizeof(*set), compare_shared);
	return n;
}

/* If one rank of a replica is contested, none of its ranks is a rank of the job. */
static void join_contested_group(struct contender *c, const struct shared *groups, size_t n)
{
	struct rank_claim *claim = c->claim;

	if (c->is_contested || claim->is_final || !c->candidate.is_known)
		return;
	if (claim->group.is_known) {
		c->is_contested = has_shared(groups, n, (uint64_t)claim->group.value);
		return;
	}
	for (unsigned a = 0; a < claim->n_ancestors && !c->is_contested; a++) {
		struct rank_number_of engine = known(claim->ancestors[a]);

		c->is_contested = has_shared(groups, n, (uint64_t)engine.value);
		if (c->is_contested)
			claim->group = engine;
	}
}

static void answer(struct contender *c)
{
	struct rank_claim *claim = c->claim;

	if (claim->is_final)
		return;
	claim->rank = c->candidate;
	if (c->is_contested)
		claim->rank.is_known = false;
	claim->rank_world_size = c->is_by_comm ? claim->comm_size : claim->world_size;
	if (claim->comm.is_known)
		claim->group_rank = claim->comm_rank;
	else if (c->is_contested)
		claim->group_rank = c->candidate;
	else
		claim->group_rank.is_known = false;
}

int ranks_resolve(struct rank_claim *claims, size_t count)
{
	CLEANUP(free_p) struct contender *all = calloc(count ? count : 1, sizeof(*all));
	CLEANUP(free_p)
	struct shared *set = calloc(count ? count : 1, RANKS_ANCESTORS_MAX * sizeof(*set));
	size_t n;

	if (!all || !set)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		all[i].claim = &claims[i];
	choose_candidates(all, count, set);
	qsort(all, count, sizeof(*all), compare_candidates);
	find_contested(all, count);
	n = find_crowded(all, count, set);
	for (size_t i = 0; i < count; i++)
		all[i].claim->group = group_of(&all[i], set, n);
	n = list_contested_groups(all, count, set);
	for (size_t i = 0; i < count; i++)
		join_contested_group(&all[i], set, n);
	for (size_t i = 0; i < count; i++)
		answer(&all[i]);
	return 0;
}

/* ---- the database --------------------------------------------------------------------------- */

/* Columns of RANK_ALL. */
enum {
	C_ID,
	C_START,
	C_END,
	C_DECLARED,
	C_TOLD_WORLD,
	C_ATTEMPT,
	C_COMM,
	C_COMM_RANK,
	C_COMM_SIZE,
	C_GPUS,
	C_ANCESTORS,
	C_RANK,
	C_WORLD,
	C_GROUP,
	C_GROUP_RANK,
	C_IS_FINAL,
};

static struct rank_number_of number_at(sqlite3_stmt *row, int column)
{
	if (sqlite3_column_type(row, column) == SQLITE_NULL)
		return (struct rank_number_of){false, 0};
	return (struct rank_number_of){true, sqlite3_column_int64(row, column)};
}

/* Parses "0,3,3", the GPUs to which it has dispatched. */
static uint64_t gpus_of(const char *text)
{
	uint64_t gpus = 0;

	for (; text && *text; text += strcspn(text, ",")) {
		text += *text == ',';
		gpus |= 1ull << (strtoull(text, NULL, 10) % 64);
	}
	return gpus;
}

/* Parses "PID.START,..." into a number for each entry, never 0. */
static void ancestors_of(const char *text, struct rank_claim *claim)
{
	while (text && *text && claim->n_ancestors < RANKS_ANCESTORS_MAX) {
		uint64_t hash = 0xcbf29ce484222325u;

		/* FNV-1a, as for communicators. */
		for (; *text && *text != ','; text++)
			hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
		hash &= INT64_MAX;
		claim->ancestors[claim->n_ancestors++] = hash ? hash : 1;
		text += *text == ',';
	}
}

static void read_claim(sqlite3_stmt *row, struct rank_claim *ret)
{
	struct rank_number_of end = number_at(row, C_END);

	*ret = (struct rank_claim){
		.process_id = sqlite3_column_int64(row, C_ID),
		.start_ns = sqlite3_column_int64(row, C_START),
		.end_ns = end.is_known ? end.value : INT64_MAX,
		.declared = number_at(row, C_DECLARED),
		.world_size = number_at(row, C_TOLD_WORLD),
		.attempt = number_at(row, C_ATTEMPT),
		.comm = number_at(row, C_COMM),
		.comm_rank = number_at(row, C_COMM_RANK),
		.comm_size = number_at(row, C_COMM_SIZE),
		.gpus = gpus_of((const char *)sqlite3_column_text(row, C_GPUS)),
		.rank = number_at(row, C_RANK),
		.rank_world_size = number_at(row, C_WORLD),
		.group = number_at(row, C_GROUP),
		.group_rank = number_at(row, C_GROUP_RANK),
		.is_final = sqlite3_column_int(row, C_IS_FINAL),
	};
	ancestors_of((const char *)sqlite3_column_text(row, C_ANCESTORS), ret);
}

/* When the oldest living process began; not known if none lives. */
static int read_oldest(struct writer *writer, int64_t session_id, struct rank_number_of *ret_ns)
{
	sqlite3_stmt *oldest = writer->statements.at[ST_RANK_OLDEST];
	int step;

	sqlite3_bind_int64(oldest, 1, session_id);
	step = sqlite3_step(oldest);
	*ret_ns = (struct rank_number_of){false, 0};
	if (step == SQLITE_ROW)
		*ret_ns = number_at(oldest, 0);
	sqlite3_reset(oldest);
	return step == SQLITE_ROW ? 0 : database_errno(step);
}

/* Appends the processes that have ended, or that have not, to the @count first of @claims. */
static int read_claims_of(struct writer *writer, int64_t session_id, int64_t oldest_ns,
	bool have_ended, struct rank_claim *claims, size_t *count)
{
	sqlite3_stmt *all = writer->statements.at[ST_RANK_ALL];
	int step;

	sqlite3_bind_int64(all, 1, session_id);
	sqlite3_bind_int64(all, 2, oldest_ns);
	sqlite3_bind_int64(all, 3, (int64_t)(RANKS_COMPARED_MAX - *count));
	sqlite3_bind_int(all, 4, have_ended);
	while ((step = sqlite3_step(all)) == SQLITE_ROW && *count < RANKS_COMPARED_MAX)
		read_claim(all, &claims[(*count)++]);
	sqlite3_reset(all);
	return step == SQLITE_ROW ? 0 : database_errno(step);
}

/*
 * Where not all fit, a process that another was compared with may be missing. So a process that has
 * ended keeps its result, and a process with a contested rank stays without one.
 */
static void keep_results(struct rank_claim *claims, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		bool was_contested = !claims[i].rank.is_known && claims[i].group_rank.is_known;

		claims[i].is_final |= claims[i].end_ns != INT64_MAX || was_contested;
	}
}

/*
 * Reads the living processes first: there may be more that have ended than are compared. Of these
 * only those are read that can have a part in it.
 */
static int read_claims(
	struct writer *writer, int64_t session_id, struct rank_claim *claims, size_t *ret_count)
{
	struct rank_number_of oldest_ns;
	int r;

	*ret_count = 0;
	r = read_oldest(writer, session_id, &oldest_ns);
	if (r < 0 || !oldest_ns.is_known)
		return r;
	r = read_claims_of(writer, session_id, oldest_ns.value, false, claims, ret_count);
	if (r == 0)
		r = read_claims_of(writer, session_id, oldest_ns.value, true, claims, ret_count);
	if (*ret_count == RANKS_COMPARED_MAX)
		keep_results(claims, *ret_count);
	return r;
}

static void bind_number(sqlite3_stmt *put, int index, struct rank_number_of number)
{
	database_bind_optional(put, index, number.is_known, number.value);
}

static int put_answer(struct writer *writer, const struct rank_claim *claim)
{
	sqlite3_stmt *put = writer->statements.at[ST_RANK_PUT];

	sqlite3_bind_int64(put, 1, claim->process_id);
	bind_number(put, 2, claim->rank);
	bind_number(put, 3, claim->rank_world_size);
	bind_number(put, 4, claim->group);
	bind_number(put, 5, claim->group_rank);
	return database_run(put);
}

static bool is_same(struct rank_number_of a, struct rank_number_of b)
{
	return a.is_known == b.is_known && (!a.is_known || a.value == b.value);
}

static bool has_same_answer(const struct rank_claim *a, const struct rank_claim *b)
{
	return is_same(a->rank, b->rank) && is_same(a->rank_world_size, b->rank_world_size) &&
	       is_same(a->group, b->group) && is_same(a->group_rank, b->group_rank);
}

int ranks_update(struct writer *writer, int64_t session_id)
{
	CLEANUP(free_p)
	struct rank_claim *claims = calloc(2 * RANKS_COMPARED_MAX, sizeof(*claims));
	struct rank_claim *before = claims ? claims + RANKS_COMPARED_MAX : NULL;
	int r, changes = 0;
	size_t count = 0;

	if (!claims)
		return -ENOMEM;
	r = read_claims(writer, session_id, claims, &count);
	memcpy(before, claims, count * sizeof(*claims));
	if (r == 0)
		r = ranks_resolve(claims, count);
	for (size_t i = 0; r == 0 && i < count; i++) {
		if (has_same_answer(&claims[i], &before[i]))
			continue;
		r = put_answer(writer, &claims[i]);
		changes = 1;
	}
	return r < 0 ? r : changes;
}

int ranks_reload(struct writer *writer, struct process *process)
{
	sqlite3_stmt *get = writer->statements.at[ST_RANK_GET];
	struct rank_number_of rank = {false, 0};
	int step;

	sqlite3_bind_int64(get, 1, process->id);
	step = sqlite3_step(get);
	if (step == SQLITE_ROW)
		rank = number_at(get, 0);
	sqlite3_reset(get);
	if (step != SQLITE_ROW)
		return step == SQLITE_DONE ? -EUCLEAN : database_errno(step);
	process->has_rank = rank.is_known;
	process->rank = (uint32_t)rank.value;
	return 0;
}

/* ---- what a process says ----------------------------------------------------------------- */

void ranks_free_said(struct rank_said *said)
{
	if (!said)
		return;
	free(said->launcher);
	free(said->job);
	free(said);
}

static void free_said_p(struct rank_said **said)
{
	ranks_free_said(*said);
}

static struct rank_number_of number_of(protobuf_c_boolean is_known, int64_t value)
{
	return (struct rank_number_of){is_known != 0, is_known ? value : 0};
}

/* Sets *@ret to NULL and returns 0 if the text is missing. */
static int copy_text(protobuf_c_boolean has, const ProtobufCBinaryData *bytes, char **ret)
{
	*ret = has ? text_clean(bytes->data, bytes->len, LABEL_BYTES_MAX) : NULL;
	return has && !*ret ? -ENOMEM : 0;
}

static int copy_said(const Rtl__RankDef *said, struct rank_said **ret)
{
	CLEANUP(free_said_p) struct rank_said *copy = calloc(1, sizeof(*copy));
	int r = copy ? 0 : -ENOMEM;

	if (r == 0)
		r = copy_text(said->has_launcher, &said->launcher, &copy->launcher);
	if (r == 0)
		r = copy_text(said->has_job, &said->job, &copy->job);
	if (r < 0)
		return r;
	copy->rank = number_of(said->has_rank, said->rank);
	copy->local_rank = number_of(said->has_local_rank, said->local_rank);
	copy->world_size = number_of(said->has_world_size, said->world_size);
	copy->attempt = number_of(said->has_attempt, said->attempt);
	copy->comm = number_of(said->has_comm, (int64_t)said->comm);
	copy->comm_rank = number_of(said->has_comm_rank, said->comm_rank);
	copy->comm_size = number_of(said->has_comm_size, said->comm_size);
	*ret = TAKE(copy);
	return 0;
}

int ranks_put_said(struct writer *writer, struct process *process)
{
	sqlite3_stmt *put = writer->statements.at[ST_RANK_SAID];
	const struct rank_said *said = process->said;

	if (!said)
		return 0;
	sqlite3_bind_int64(put, 1, process->id);
	database_bind_text(put, 2, said->launcher);
	bind_number(put, 3, said->rank);
	bind_number(put, 4, said->local_rank);
	bind_number(put, 5, said->world_size);
	bind_number(put, 6, said->attempt);
	database_bind_text(put, 7, said->job);
	bind_number(put, 8, said->comm);
	bind_number(put, 9, said->comm_rank);
	bind_number(put, 10, said->comm_size);
	process->is_rank_new = process->is_dirty = true;
	return database_run(put);
}

int ranks_take(struct writer *writer, struct process *process, const Rtl__Defines *defines)
{
	const Rtl__RankDef *last;
	struct rank_said *said;
	int r;

	if (!defines->n_ranks)
		return 0;
	last = defines->ranks[defines->n_ranks - 1];
	if (last->has_comm && (last->comm > INT64_MAX || !last->comm))
		return -EBADMSG;
	r = copy_said(last, &said);
	if (r < 0)
		return r;
	ranks_free_said(process->said);
	process->said = said;
	return ranks_put_said(writer, process);
}

/* ---- the process tree -------------------------------------------------------------------- */

void ranks_read_ancestors(pid_t pid, uint64_t start_time, char ret[RANKS_ANCESTORS_BYTES])
{
	struct process_stat stat;
	size_t used = 0;

	ret[0] = '\0';
	for (unsigned i = 0; i < RANKS_ANCESTORS_MAX && pid > 1; i++, pid = stat.parent) {
		if (process_stat_read(pid, &stat) < 0 ||
			(!i && start_time && stat.start_time != start_time))
			return;
		used += (size_t)snprintf(ret + used, RANKS_ANCESTORS_BYTES - used, "%s%d.%" PRIu64,
			used ? "," : "", (int)pid, stat.start_time);
	}
}

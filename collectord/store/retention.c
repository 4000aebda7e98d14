/* SPDX-License-Identifier: MIT */
#include "collectord/store/retention.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "collectord/catalog/free_space.h"
#include "collectord/catalog/index_removed.h"
#include "collectord/catalog/index_totals.h"
#include "collectord/catalog/removal.h"
#include "collectord/db/hash.h"
#include "collectord/db/tenant_files.h"
#include "collectord/store/internal.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "proto/base/fault.h"
#include "proto/base/limits.h"
#include "proto/base/subordinate_uids.h"

/* Intervals between two passes over everything, and between two looks at the free room. */
#define PASS_NS	      60000000000u
#define ROOM_CHECK_NS 1000000000u
#define MIB	      (1u << 20)
#define DAY_S	      86400u
#define WHY_BYTES     160
/* Removals that may run at a time, one for each user, since a user can delay its own. GOING_NS: how
 * long other work waits for a removal; GOING_LAST_NS: how long the end of the store does. */
#define GOING_MAX     8u
#define GOING_NS      250000000u
#define GOING_LAST_NS 2000000000u

static const char is_read[] = "it is being read";

struct tenant {
	UT_hash_handle hh;
	bool is_lost;  /* the table could not grow for it */
	bool is_other; /* another store looks after its databases */
	uid_t uid;
	uint64_t closed_bytes;
	uint64_t open_bytes;
	unsigned closed;
};

/* A removal that runs in a process of its own (removal.h). */
struct retention_going {
	char *database;
	pid_t pid;
	uid_t uid;
	uint64_t since_ns; /* CLOCK_MONOTONIC */
};

struct retention {
	char *folder; /* absolute, without links */
	struct quota_limits limits;
	uint64_t keep_free_bytes;
	uint64_t pass_ns;	  /* CLOCK_MONOTONIC: the next pass, or try to settle ... */
	uint64_t room_checked_ns; /* ... and the last look at the free room ... */
	bool was_storing;	  /* ... and whether records were being stored then */
	uint64_t wanted_ns;	  /* until then a failed opening counts as storing */
	bool is_going_on;	  /* a pass is under way */
	struct tenant *tenants;	  /* the one that has most is first */
	bool has_no_memory;
	bool has_readers; /* a file to be removed is being read: retry soon */
	struct retention_going going[GOING_MAX];
	unsigned n_going;
	bool is_settled; /* the index has its files' present places: before, they seem gone */
};

/* A session to be removed, and why. */
struct victim {
	struct index_closed closed;
	char why[WHY_BYTES];
};

int retention_new(struct store *store, const struct store_config *config)
{
	struct retention *retention = calloc(1, sizeof(*retention));

	if (!retention)
		return -ENOMEM;
	retention->limits = config->limits;
	retention->keep_free_bytes = config->keep_free_bytes;
	retention->pass_ns = UINT64_MAX; /* until retention_recover() has run */
	retention->folder = realpath(config->folder, NULL);
	store->retention = retention;
	return retention->folder ? 0 : -errno;
}

const char *retention_folder(const struct store *store)
{
	return store->retention ? store->retention->folder : NULL;
}

void retention_free(struct retention *retention)
{
	struct tenant *tenant, *next;

	if (!retention)
		return;
	for (unsigned i = 0; i < retention->n_going; i++)
		free(retention->going[i].database);
	HASH_ITER (hh, retention->tenants, tenant, next) {
		HASH_DEL(retention->tenants, tenant);
		free(tenant);
	}
	free(retention->folder);
	free(retention);
}

/* ---- answers --------------------------------------------------------------------------- */

static char *copy_text(const char *text)
{
	return text ? strdup(text) : NULL;
}

/* Answers that retention removed one session; @data is the store. */
static void say_removed(const struct index_removed *removed, void *data)
{
	const struct index_entry *session = &removed->session;
	struct store_answer answer = {
		.kind = STORE_REMOVED,
		.name = copy_text(session->name),
		.job = copy_text(session->job),
		.database = copy_text(session->database),
		.text = copy_text(removed->why),
		.removed =
			{
				.uid = session->uid,
				.start_ns = session->start_realtime_ns,
				.end_ns = session->end_realtime_ns,
				.removed_ns = removed->removed_ns,
				.stored = session->stored,
				.bytes = session->bytes,
			},
	};

	answer_left(data, &answer);
}

/* @why it cannot be removed. */
static void say_kept(struct store *store, const char *database, const char *why)
{
	struct store_answer answer = {.kind = STORE_KEPT};

	if (asprintf(&answer.text, "%s: cannot be removed: %s", database, why) < 0)
		answer.text = NULL;
	answer_left(store, &answer);
}

/* True for a reader or a full disk: sessions that store are told of those. */
static bool passes(int error)
{
	return error == -EBUSY || error == -ENOMEM || error == -ENOSPC;
}

void retention_say_index(struct store *store, int error)
{
	const char *path = index_file_path(store->index);
	struct store_answer answer = {.kind = STORE_KEPT};
	int gone = error ? storage_check_file(path) : 0;

	error = gone < 0 ? gone : error; /* SQLite only reports that it may not write to the file */
	if (passes(error) || error == store->index_error)
		return;
	store->index_error = error;
	if ((error ? asprintf(&answer.text,
			     "%s: %s: no closed session is removed, and new ones are not listed, "
			     "until "
			     "the collector is started again",
			     path, session_file_explain(error))
		   : asprintf(&answer.text, "%s: it is as it should be again", path)) < 0)
		answer.text = NULL;
	answer_left(store, &answer);
}

static const char *explain(int error)
{
	return error == -ELOOP	       ? "it is a symbolic link, or lies behind one"
	       : error == -EMEDIUMTYPE ? "it is not a database of rtl"
	       : error == -EPERM       ? "it is not ours"
				       : session_file_explain(error);
}

void retention_limit(struct store *store, const struct store_limits *limits)
{
	if (!store->retention)
		return;
	store->retention->limits = limits->quota;
	store->retention->keep_free_bytes = limits->keep_free_bytes;
	retention_hurry(store);
}

/* ---- removals ------------------------------------------------------------------------------ */

static void say_disposed(struct store *store, const char *database, uid_t uid)
{
	struct store_answer answer = {
		.kind = STORE_REMOVED,
		.database = copy_text(database),
		.text = copy_text(INDEX_OWNERS_WISH),
		.removed = {.uid = uid, .was_wished = true},
	};

	answer_left(store, &answer);
}

static void finish(struct store *store, const char *database, uid_t uid, int error)
{
	int r;

	if (error < 0 && error != -ENOENT) {
		say_kept(store, database, explain(error));
		return;
	}
	r = index_end_removal(store->index, database);
	if (r == 1)
		say_disposed(store, database, uid);
	if (r >= 0)
		(void)index_each_removed(
			store->index, database, SESSIONS_REMOVED_MAX, say_removed, store);
}

/* Starts the removal of a database that the index lists as going. If there is no place, the next
 * start of the collector does it. */
static void begin(const char *database, uid_t uid, bool is_there, void *data)
{
	struct store *store = data;
	struct retention *retention = store->retention;
	struct retention_going *going = &retention->going[retention->n_going];

	if (is_there) {
		finish(store, database, uid, 0);
		return;
	}
	if (retention->n_going == GOING_MAX)
		return;
	*going = (struct retention_going){
		.database = strdup(database), .uid = uid, .since_ns = clock_monotonic_ns()};
	going->pid = going->database ? removal_start(retention->folder, database, uid) : -ENOMEM;
	if (going->pid < 0) {
		finish(store, database, uid, going->pid);
		free(going->database);
		return;
	}
	retention->n_going++;
}

static void end_some(struct store *store)
{
	struct retention *retention = store->retention;

	for (unsigned i = 0; i < retention->n_going;) {
		struct retention_going going = retention->going[i];
		int r = removal_end(going.pid);

		if (r == -EAGAIN) {
			i++;
			continue;
		}
		FAULT_POINT("removal_unlinked");
		finish(store, going.database, going.uid, r);
		free(going.database);
		retention->going[i] = retention->going[--retention->n_going];
		retention->is_going_on = true;
	}
}

/* Waits until at most @most removals are under way, but no longer than @ns. */
static void await(struct store *store, unsigned most, uint64_t ns)
{
	const struct timespec moment = {.tv_nsec = 1000000};
	uint64_t begin_ns = clock_monotonic_ns();

	end_some(store);
	while (store->retention->n_going > most && clock_monotonic_ns() < begin_ns + ns) {
		store_beat(store);
		(void)nanosleep(&moment, NULL);
		end_some(store);
	}
}

void retention_finish(struct store *store)
{
	if (store->retention)
		await(store, 0, GOING_LAST_NS);
}

bool retention_is_going(const struct store *store, const char *path)
{
	const struct retention *retention = store->retention;

	for (unsigned i = 0; retention && i < retention->n_going; i++)
		if (!strcmp(retention->going[i].database, path))
			return true;
	return false;
}

static bool holds_its_own(const struct retention *retention, uid_t uid)
{
	for (unsigned i = 0; i < retention->n_going; i++)
		if (retention->going[i].uid == uid)
			return true;
	return retention->n_going == GOING_MAX;
}

/* Settles the index. While all files seem to be gone, none is taken for gone: the next pass tries
 * again. */
static int settle(struct store *store)
{
	int r = index_settle(store->index);

	store->retention->is_settled = r == 0;
	store->retention->pass_ns = r == 0 ? 0 : clock_monotonic_ns() + ROOM_CHECK_NS;
	if (r < 0)
		return r;
	(void)index_each_removed(store->index, NULL, SESSIONS_REMOVED_MAX, say_removed, store);
	(void)index_each_going(store->index, begin, store);
	await(store, 0, GOING_NS);
	(void)index_unkeep(store->index, NULL);
	return 0;
}

int retention_recover(struct store *store)
{
	return store->retention ? settle(store) : index_settle(store->index);
}

bool retention_take_gone(struct store *store, const char *database)
{
	if (store->retention && !store->retention->is_settled)
		return false;
	for (const struct store_database *d = store->databases; d; d = d->next)
		if (!strcmp(d->writer->path, database))
			return false; /* it is still written to: its close will record what became
					 of it */
	if (index_take_gone(store->index, database, "its file was taken away") < 0)
		return false;
	(void)index_each_removed(store->index, database, SESSIONS_REMOVED_MAX, say_removed, store);
	return true;
}

void retention_drop_vacant(struct store *store, const char *database)
{
	const char *folder = retention_folder(store);
	size_t bytes = folder ? strlen(folder) : 0;
	uid_t uid;

	/* If the file is not in the folder of a user, removal_check() refuses. */
	if (!folder || strncmp(database, folder, bytes) || database[bytes] != '/')
		return;
	uid = (uid_t)strtoul(database + bytes + 1, NULL, 10);
	if (removal_check(folder, database, uid) == 0)
		(void)removal_unlink_vacant(folder, database, uid); /* else the next start does */
}

static uint64_t bytes_of(const char *database)
{
	return (uint64_t)storage_database_bytes(database);
}

static void owned_done(struct index_owned *owned)
{
	free(owned->database);
}

static bool is_open_here(const struct store *store, const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return false;
	for (const struct store_database *d = store->databases; d; d = d->next)
		if (d->dev == st.st_dev && d->ino == st.st_ino)
			return true;
	return false;
}

static int keep(struct store *store, const char *database, int error)
{
	const char *why = error == -EBUSY ? is_read : explain(error);

	store->retention->has_readers |= error == -EBUSY;
	if (error != -EBUSY)
		say_kept(store, database, why);
	return index_keep(store->index, database, why);
}

static int let_go(struct store *store, const struct victim *victim)
{
	const unsigned going = store->retention->n_going;
	const char *database = victim->closed.database;
	int r = is_open_here(store, database) || holds_its_own(store->retention, victim->closed.uid)
			? -EBUSY
			: removal_check(store->retention->folder, database, victim->closed.uid);

	if (r < 0 && r != -ENOENT)
		return keep(store, database, r);
	r = index_begin_removal(store->index, database, victim->why);
	if (r < 0)
		return r;
	FAULT_POINT("removal_begun");
	begin(database, victim->closed.uid, false, store);
	await(store, going, GOING_NS);
	return 0;
}

/* ---- wishes of owners ---------------------------------------------------------------------- */

static int remove_owned(struct store *store, uid_t uid, const struct index_owned *owned)
{
	struct retention *retention = store->retention;
	const unsigned going = retention->n_going;
	int r;

	if (owned->is_open)
		return -ETXTBSY;
	if (owned->is_kept)
		return -EROFS;
	if (is_open_here(store, owned->database))
		return -EBUSY;
	if (holds_its_own(retention, uid))
		return -EALREADY;
	r = removal_check(retention->folder, owned->database, uid);
	if (r < 0 && r != -ENOENT)
		return r;
	r = index_begin_removal(store->index, owned->database, INDEX_OWNERS_WISH);
	if (r < 0)
		return r;
	begin(owned->database, uid, false, store);
	await(store, going, GOING_NS);
	return retention_is_going(store, owned->database) ? -EINPROGRESS : 0;
}

/* -EDQUOT: with @database, its owner would keep more than it may. */
static int check_share(struct store *store, uid_t uid, const char *database)
{
	const uint64_t most = store->retention->limits.disk_bytes / KEPT_DISK_PART;
	unsigned count = 0;
	uint64_t bytes = 0;
	int r = index_count_owned(store->index, subuids_owner(store->subuids, uid), &count, &bytes);

	if (r < 0)
		return r;
	if (count >= KEPT_SESSIONS_MAX)
		return -EDQUOT;
	return most && bytes + bytes_of(database) > most ? -EDQUOT : 0;
}

static void say_marked(struct store *store, const char *database, uid_t uid, bool is_kept)
{
	struct store_answer answer = {
		.kind = STORE_MARKED,
		.database = copy_text(database),
		.left = {.uid = uid},
		.complete = is_kept,
	};

	answer_left(store, &answer);
}

static int keep_owned(struct store *store, uid_t uid, const struct index_owned *owned, bool is_kept)
{
	int r = 0;

	if (owned->is_kept == is_kept)
		return 0;
	if (is_kept)
		r = check_share(store, uid, owned->database);
	if (r == 0)
		r = index_keep_for_owner(store->index, owned->database, is_kept);
	if (r == 0)
		say_marked(store, owned->database, uid, is_kept);
	if (r == 0 && !is_kept)
		retention_hurry(store);
	return r;
}

static int dispose(struct store *store, const struct command *command)
{
	CLEANUP(owned_done) struct index_owned owned = {0};
	int r;

	if (!store->retention)
		return -EOPNOTSUPP;
	if (!store->retention->is_settled)
		return -EAGAIN;
	r = index_find_owned(store->index, command->uid, command->text, command->database, &owned);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	return command->kind == COMMAND_REMOVE
		       ? remove_owned(store, command->uid, &owned)
		       : keep_owned(store, command->uid, &owned, command->kind == COMMAND_KEEP);
}

void retention_dispose(struct store *store, const struct command *command)
{
	struct store_answer answer = {.kind = STORE_DISPOSED, .owner = command->owner};

	answer.error = dispose(store, command);
	answer_left(store, &answer);
}

static void say_kept_by_owner(const char *database, uid_t uid, void *data)
{
	say_marked(data, database, uid, true);
}

void retention_tell_kept(struct store *store)
{
	if (store->retention)
		(void)index_each_owned(store->index, KEPT_SESSIONS_MAX, say_kept_by_owner, store);
}

/* ---- tenants ------------------------------------------------------------------------------- */

/* NULL: there is none, or, with @is_new, no memory for a new one. */
static struct tenant *tenant_of(struct retention *retention, uid_t uid, bool is_new)
{
	struct tenant *tenant;

	HASH_FIND(hh, retention->tenants, &uid, sizeof(uid), tenant);
	if (tenant || !is_new)
		return tenant;
	tenant = calloc(1, sizeof(*tenant));
	if (tenant) {
		tenant->uid = uid;
		HASH_ADD(hh, retention->tenants, uid, sizeof(tenant->uid), tenant);
	}
	if (tenant && tenant->is_lost) {
		free(tenant);
		tenant = NULL;
	}
	retention->has_no_memory |= !tenant;
	return tenant;
}

static void take_closed(uid_t uid, uint64_t bytes, unsigned count, void *data)
{
	struct tenant *tenant = tenant_of(data, uid, true);

	if (!tenant)
		return;
	tenant->closed_bytes = bytes;
	tenant->closed = count;
}

static void add_open(struct store *store)
{
	for (const struct store_database *d = store->databases; d; d = d->next) {
		struct tenant *tenant = d->owner == STORE_EVERYBODY
						? NULL
						: tenant_of(store->retention, d->owner, true);

		if (tenant)
			tenant->open_bytes += (uint64_t)storage_database_bytes(d->writer->path);
	}
}

static void tell_accounts(struct store *store)
{
	struct quota_account *account, *next;

	HASH_ITER (hh, store->quotas.accounts, account, next) {
		const struct tenant *tenant = tenant_of(store->retention, account->uid, false);

		account->closed_bytes = tenant ? tenant->closed_bytes : 0;
		quota_weigh(account);
	}
}

static uint64_t size_of(const struct tenant *tenant)
{
	return tenant->closed_bytes + tenant->open_bytes;
}

static int compare(const struct tenant *a, const struct tenant *b)
{
	return (size_of(a) < size_of(b)) - (size_of(a) > size_of(b));
}

static void take_neighbour(
	void *data, uid_t uid, uint64_t closed_bytes, unsigned closed, uint64_t open_bytes)
{
	struct tenant *tenant = tenant_of(data, uid, true);

	if (!tenant)
		return;
	tenant->is_other = true;
	tenant->closed_bytes = closed_bytes;
	tenant->closed = closed;
	tenant->open_bytes = open_bytes;
}

static void meet_neighbours(struct store *store)
{
	const struct tenant *own;

	if (!store->neighbours)
		return;
	own = tenant_of(store->retention, store->tenant, true);
	if (own)
		store->neighbours->tell(
			store->neighbours->data, own->closed_bytes, own->closed, own->open_bytes);
	store->neighbours->each(store->neighbours->data, take_neighbour, store->retention);
}

/* 1: not all files are weighed yet. */
static int weigh_tenants(struct store *store)
{
	struct retention *retention = store->retention;
	int r = index_weigh(store->index, bytes_of);

	if (r != 0)
		return r;
	for (struct tenant *t = retention->tenants; t; t = t->hh.next)
		t->closed_bytes = t->open_bytes = t->closed = 0;
	retention->has_no_memory = false;
	r = index_each_closed(store->index, take_closed, retention);
	if (r < 0)
		return r;
	add_open(store);
	meet_neighbours(store);
	if (retention->has_no_memory)
		return -ENOMEM;
	tell_accounts(store);
	HASH_SORT(retention->tenants, compare);
	return 0;
}

void retention_tell_neighbours(struct store *store)
{
	if (!store->retention || !store->neighbours)
		return;
	while (weigh_tenants(store) == 1)
		store_beat(store);
}

/* ---- reasons ------------------------------------------------------------------------------- */

static int find_old(struct store *store, struct victim *victim)
{
	uint64_t keep_ns = store->retention->limits.keep_s * 1000000000u;
	int r = keep_ns ? index_find_oldest(store->index, INDEX_ANY, &victim->closed) : 0;

	if (r <= 0)
		return r;
	if (victim->closed.end_ns + keep_ns < clock_realtime_ns()) {
		snprintf(victim->why, sizeof(victim->why), "closed more than %" PRIu64 " %s ago",
			keep_ns / 1000000000u / (keep_ns % (DAY_S * 1000000000ull) ? 1 : DAY_S),
			keep_ns % (DAY_S * 1000000000ull) ? "s" : "days");
		return 1;
	}
	free(TAKE(victim->closed.database));
	return 0;
}

/* The last closed session of a tenant is not removed for being too large: its quota admitted it. */
static bool is_over_quota(const struct tenant *tenant, uint64_t most)
{
	if (tenant->open_bytes)
		return size_of(tenant) > most - most / QUOTA_AHEAD_PART;
	return size_of(tenant) > most && tenant->closed > 1;
}

/* @is_live: only tenants that store now and would have to stop; else only the others. */
static int find_over_quota(struct store *store, bool is_live, struct victim *victim)
{
	const struct retention *retention = store->retention;
	uint64_t most = retention->limits.disk_bytes;

	for (const struct tenant *tenant = most ? retention->tenants : NULL; tenant;
		tenant = tenant->hh.next) {
		bool is_meant = !tenant->is_other && is_live == (tenant->open_bytes > 0);
		int r = 0;

		if (is_meant && is_over_quota(tenant, most))
			r = index_find_oldest(store->index, tenant->uid, &victim->closed);

		if (r == 0)
			continue;
		snprintf(victim->why, sizeof(victim->why),
			"its owner had %" PRIu64 " MiB, of a quota of %" PRIu64,
			size_of(tenant) / MIB, most / MIB);
		return r;
	}
	return 0;
}

/* Those that their owner keeps have a limit of their own, and do not make others go. */
static unsigned count_unkept(struct store *store, const struct tenant *tenant)
{
	unsigned kept = 0;
	uint64_t bytes;

	if (index_count_owned(store->index, tenant->uid, &kept, &bytes) < 0)
		return 0;
	return kept < tenant->closed ? tenant->closed - kept : 0;
}

/* Bounds the number of closed sessions of a tenant, however small they are. */
static int find_too_many(struct store *store, struct victim *victim)
{
	uint64_t most = store->retention->limits.keep_sessions;

	for (const struct tenant *t = most ? store->retention->tenants : NULL; t; t = t->hh.next) {
		int r = t->closed > most && !t->is_other && count_unkept(store, t) > most
				? index_find_oldest(store->index, t->uid, &victim->closed)
				: 0;

		if (r == 0)
			continue;
		snprintf(victim->why, sizeof(victim->why),
			"its owner had %u closed sessions, of %" PRIu64 " that are kept", t->closed,
			most);
		return r;
	}
	return 0;
}

static uint64_t total_of(const struct retention *retention)
{
	uint64_t total = 0;

	for (const struct tenant *t = retention->tenants; t; t = t->hh.next)
		total += size_of(t);
	return total;
}

/* Returns equal parts of what is left without @excess. */
static uint64_t share_without(const struct retention *retention, uint64_t excess)
{
	uint64_t total = total_of(retention), count = 0;

	for (const struct tenant *t = retention->tenants; t; t = t->hh.next)
		count += size_of(t) > 0;
	return total > excess && count ? (total - excess) / count : 0;
}

/* Finds the oldest session of the tenant that has most, if that is more than its share. */
static int find_of_greatest(
	struct store *store, uint64_t excess, bool is_room, struct victim *victim)
{
	const struct retention *retention = store->retention;
	uint64_t share = share_without(retention, excess);

	for (const struct tenant *t = excess ? retention->tenants : NULL; t; t = t->hh.next) {
		int r = 0;

		if (size_of(t) > share && t->is_other && t->closed_bytes) {
			store->neighbours->want_back(store->neighbours->data, t->uid, is_room);
			return 0;
		}
		if (size_of(t) > share && !t->is_other)
			r = index_find_oldest(store->index, t->uid, &victim->closed);
		if (r != 0)
			return r;
	}
	return 0;
}

static int find_too_much(struct store *store, struct victim *victim)
{
	const struct retention *retention = store->retention;
	uint64_t most = retention->limits.keep_bytes, total = total_of(retention);
	int r;

	if (!most || total <= most)
		return 0;
	r = find_of_greatest(store, total - most, false, victim);
	snprintf(victim->why, sizeof(victim->why),
		"the store had %" PRIu64 " MiB, of %" PRIu64 ", its owner most of all", total / MIB,
		most / MIB);
	return r;
}

/* True if records need room now, or will in a moment. */
static bool is_storing(const struct store *store)
{
	return store->databases || store->opens.first ||
	       clock_monotonic_ns() < store->retention->wanted_ns;
}

/* Returns the room that is missing before records have to wait. Without *@ret_least of it they wait
 * now. */
static uint64_t missing_room(const struct store *store, uint64_t *ret_least)
{
	int64_t wanted = (int64_t)(store->retention->keep_free_bytes / RETENTION_AHEAD_PART +
				   STORE_RESERVE_BYTES);
	int64_t left = INT64_MAX;

	/* A user that fills the disk while no session stores costs no other user its sessions. */
	if (store->room && store->retention->keep_free_bytes && is_storing(store))
		left = room_left(store->room);
	*ret_least = left < 0 ? (uint64_t)-left : 0;
	return left < wanted ? (uint64_t)(wanted - left) : 0;
}

/* Sums up what find_of_greatest() would remove step by step. */
static int can_give(struct store *store, uint64_t excess, uint64_t *ret)
{
	uint64_t share = share_without(store->retention, excess), kept = 0, all = 0;
	int r = index_kept_bytes(store->index, &kept);

	for (const struct tenant *t = store->retention->tenants; t; t = t->hh.next) {
		uint64_t above = size_of(t) > share ? size_of(t) - share : 0;

		all += above < t->closed_bytes ? above : t->closed_bytes;
	}
	*ret = all > kept ? all - kept : 0;
	return r;
}

static int find_for_room(struct store *store, struct victim *victim)
{
	uint64_t least, missing = missing_room(store, &least), given = 0;
	int r = least ? can_give(store, missing, &given) : 0;

	/* If other programs fill the disk, removing everything would not help: then nothing is
	 * removed. */
	if (r < 0 || given < least)
		return r;
	r = find_of_greatest(store, missing, true, victim);
	snprintf(victim->why, sizeof(victim->why),
		"the disk had less than %" PRIu64 " MiB to spare, its owner most of all",
		store->retention->keep_free_bytes / MIB);
	return r;
}

/* ---- times --------------------------------------------------------------------------------- */

void retention_hurry(struct store *store)
{
	if (store->retention && store->retention->is_settled)
		store->retention->pass_ns = 0;
}

void retention_want_room(struct store *store)
{
	if (!store->retention)
		return;
	store->retention->wanted_ns = clock_monotonic_ns() + PASS_NS;
	retention_hurry(store);
}

/* CLOCK_MONOTONIC of the next look at the free room; 0 when a session begins to store. */
static uint64_t next_room_check_ns(const struct store *store)
{
	const struct retention *retention = store->retention;

	if (!is_storing(store))
		return retention->room_checked_ns + PASS_NS;
	return retention->was_storing ? retention->room_checked_ns + ROOM_CHECK_NS : 0;
}

static uint64_t due_ns(const struct store *store)
{
	const struct retention *retention = store->retention;
	uint64_t room_check_ns;

	if (retention->is_going_on)
		return 0;
	if (!retention->is_settled)
		return retention->pass_ns;
	room_check_ns = next_room_check_ns(store);
	return retention->pass_ns < room_check_ns ? retention->pass_ns : room_check_ns;
}

uint64_t retention_next_ns(const struct store *store)
{
	const struct retention *retention = store->retention;
	uint64_t next_ns;

	if (!retention)
		return UINT64_MAX;
	next_ns = due_ns(store);
	if (retention->n_going && next_ns > clock_monotonic_ns() + ROOM_CHECK_NS)
		next_ns = clock_monotonic_ns() + ROOM_CHECK_NS;
	return next_ns;
}

static bool is_due(struct store *store)
{
	struct retention *retention = store->retention;
	uint64_t now_ns = clock_monotonic_ns(), least;
	bool is_due = retention->is_going_on || now_ns >= retention->pass_ns;

	if (!is_due && now_ns >= next_room_check_ns(store))
		is_due = missing_room(store, &least) > 0;
	if (is_due && !retention->is_going_on)
		(void)index_unkeep(store->index, is_read);
	if (is_due)
		retention->pass_ns = now_ns + PASS_NS;
	retention->room_checked_ns = now_ns;
	retention->was_storing = is_storing(store);
	return is_due;
}

static void victim_done(struct victim *victim)
{
	free(victim->closed.database);
}

void retention_step(struct store *store)
{
	CLEANUP(victim_done) struct victim victim = {0};
	int r;

	store_beat(store);
	if (store->retention)
		end_some(store);
	if (!store->retention || clock_monotonic_ns() < due_ns(store))
		return;
	if ((!store->retention->is_settled && settle(store) < 0) || !is_due(store))
		return;
	r = weigh_tenants(store);
	store->retention->is_going_on = r == 1;
	if (r == 1)
		return;
	if (r == 0)
		r = find_over_quota(store, true, &victim);
	if (r == 0)
		r = find_old(store, &victim);
	if (r == 0)
		r = find_over_quota(store, false, &victim);
	if (r == 0)
		r = find_too_many(store, &victim);
	if (r == 0)
		r = find_too_much(store, &victim);
	if (r == 0)
		r = find_for_room(store, &victim);
	if (r == 1) {
		r = let_go(store, &victim);
		r = r < 0 ? r : 1;
	}
	if (r < 0)
		retention_say_index(store, r);
	store->retention->is_going_on = r == 1;
	if (r == 1 || (r == 0 && !store->retention->has_readers))
		return;
	store->retention->has_readers = false;
	store->retention->pass_ns = clock_monotonic_ns() + ROOM_CHECK_NS;
}

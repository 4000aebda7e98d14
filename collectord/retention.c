/* SPDX-License-Identifier: MIT */
#include "collectord/retention.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collectord/index_removed.h"
#include "collectord/removal.h"
#include "collectord/room.h"
#include "collectord/storage.h"
#include "collectord/store_private.h"
#include "proto/cleanup.h"
#include "proto/clock.h"
#include "proto/fault.h"
#include "proto/limits.h"

/* Everything is looked at so often, and the room that is left. */
#define PASS_NS	  60000000000u
#define LOOK_NS	  1000000000u
#define MIB	  (1u << 20)
#define DAY_S	  86400u
#define WHY_BYTES 160

static const char is_read[] = "it is being read";

struct tenant {
	uid_t uid;
	uint64_t closed_bytes;
	uint64_t open_bytes;
	unsigned closed;
};

struct retention {
	char *folder; /* absolute, without links */
	struct store_limits limits;
	uint64_t keep_free_bytes;
	uint64_t pass_ns; /* CLOCK_MONOTONIC: the next look at everything ... */
	uint64_t look_ns; /* ... and at the room */
	bool is_going_on; /* of a pass that is under way */
	struct tenant *tenants;
	size_t count, room;
	bool has_no_memory;
	bool has_readers; /* of what should go: looked at again soon */
};

/* What goes, and why. */
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
	retention->folder = realpath(config->folder, NULL);
	store->retention = retention;
	return retention->folder ? 0 : -errno;
}

void retention_free(struct retention *retention)
{
	if (!retention)
		return;
	free(retention->tenants);
	free(retention->folder);
	free(retention);
}

/* ---- telling ------------------------------------------------------------------------------- */

static char *copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

static void say_removed(const struct index_removed *removed, void *data)
{
	const struct index_entry *session = &removed->session;
	struct store_answer answer = {
		.kind = STORE_REMOVED,
		.name = copy(session->name),
		.job = copy(session->job),
		.database = copy(session->database),
		.text = copy(removed->why),
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

static void say_kept(struct store *store, const char *database, const char *why)
{
	struct store_answer answer = {.kind = STORE_KEPT};

	if (asprintf(&answer.text, "%s: cannot be removed: %s", database, why) < 0)
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

/* ---- going --------------------------------------------------------------------------------- */

/* The index knows that it is going. */
static void finish(const char *database, uid_t uid, bool is_there, void *data)
{
	struct store *store = data;
	int r = is_there ? 0 : removal_unlink(store->retention->folder, database, uid);

	if (r < 0 && r != -ENOENT)
		say_kept(store, database, explain(r));
	else if (index_end_removal(store->index, database) == 0)
		(void)index_each_removed(
			store->index, database, SESSIONS_REMOVED_MAX, say_removed, store);
}

void retention_recover(struct store *store)
{
	if (!store->retention)
		return;
	(void)index_each_removed(store->index, NULL, SESSIONS_REMOVED_MAX, say_removed, store);
	(void)index_each_going(store->index, finish, store);
	(void)index_unkeep(store->index, NULL);
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
	const char *database = victim->closed.database;
	int r = is_open_here(store, database)
			? -EBUSY
			: removal_check(store->retention->folder, database, victim->closed.uid);

	if (r < 0 && r != -ENOENT)
		return keep(store, database, r);
	r = index_begin_removal(store->index, database, victim->why);
	if (r < 0)
		return r;
	FAULT_POINT("removal_begun");
	finish(database, victim->closed.uid, false, store);
	return 0;
}

/* ---- who ----------------------------------------------------------------------------------- */

static struct tenant *tenant_of(struct retention *retention, uid_t uid)
{
	struct tenant *grown;

	for (size_t i = 0; i < retention->count; i++)
		if (retention->tenants[i].uid == uid)
			return &retention->tenants[i];
	if (retention->count == retention->room) {
		size_t room = retention->room ? 2 * retention->room : 16;

		grown = reallocarray(retention->tenants, room, sizeof(*grown));
		if (!grown) {
			retention->has_no_memory = true;
			return NULL;
		}
		retention->tenants = grown;
		retention->room = room;
	}
	retention->tenants[retention->count] = (struct tenant){.uid = uid};
	return &retention->tenants[retention->count++];
}

static void take_closed(uid_t uid, uint64_t bytes, unsigned count, void *data)
{
	struct tenant *tenant = tenant_of(data, uid);

	if (!tenant)
		return;
	tenant->closed_bytes = bytes;
	tenant->closed = count;
}

static void add_open(struct store *store)
{
	for (const struct store_session *s = store->sessions; s; s = s->next) {
		const struct store_session *other = store->sessions;
		struct tenant *tenant;

		if (!s->database)
			continue;
		/* Once a database. */
		while (other->database != s->database)
			other = other->next;
		tenant = other == s ? tenant_of(store->retention, s->uid) : NULL;
		if (tenant)
			tenant->open_bytes +=
				(uint64_t)storage_database_bytes(s->database->writer->path);
	}
}

static void tell_accounts(struct store *store)
{
	const struct retention *retention = store->retention;
	struct quota_account *account, *next;

	HASH_ITER (hh, store->quotas.accounts, account, next) {
		account->closed_bytes = 0;
		for (size_t i = 0; i < retention->count; i++)
			if (retention->tenants[i].uid == account->uid)
				account->closed_bytes = retention->tenants[i].closed_bytes;
		quota_weigh(account);
	}
}

static uint64_t bytes_of(const char *database)
{
	return (uint64_t)storage_database_bytes(database);
}

static uint64_t size_of(const struct tenant *tenant)
{
	return tenant->closed_bytes + tenant->open_bytes;
}

static int compare(const void *a, const void *b)
{
	const uint64_t x = size_of(a), y = size_of(b);

	return (x < y) - (x > y);
}

/* The one that has most is first. */
static int weigh_tenants(struct store *store)
{
	struct retention *retention = store->retention;
	int r = index_weigh(store->index, bytes_of);

	retention->count = 0;
	retention->has_no_memory = false;
	if (r == 0)
		r = index_each_closed(store->index, take_closed, retention);
	if (r < 0)
		return r;
	add_open(store);
	if (retention->has_no_memory)
		return -ENOMEM;
	tell_accounts(store);
	if (retention->count)
		qsort(retention->tenants, retention->count, sizeof(*retention->tenants), compare);
	return 0;
}

/* ---- why ----------------------------------------------------------------------------------- */

static int find_old(struct store *store, struct victim *victim)
{
	uint64_t keep_ns = store->retention->limits.keep_s * 1000000000u;
	int r = keep_ns ? index_find_oldest(store->index, INDEX_ANY_UID, &victim->closed) : 0;

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

/* What a tenant stored last is not taken from it for being too much: it was let in. */
static bool is_over_quota(const struct tenant *tenant, uint64_t most)
{
	if (tenant->open_bytes)
		return size_of(tenant) > most - most / QUOTA_AHEAD_PART;
	return size_of(tenant) > most && tenant->closed > 1;
}

/* @is_live: of who stores now, and would have to stop. */
static int find_over_quota(struct store *store, bool is_live, struct victim *victim)
{
	const struct retention *retention = store->retention;
	uint64_t most = retention->limits.disk_bytes;

	for (size_t i = 0; most && i < retention->count; i++) {
		const struct tenant *tenant = &retention->tenants[i];
		bool is_meant = is_live == (tenant->open_bytes > 0);
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

/* The oldest of who has most, if that is more than an equal share of what is left without @excess.
 */
static int find_of_greatest(struct store *store, uint64_t excess, struct victim *victim)
{
	const struct retention *retention = store->retention;
	uint64_t total = 0, share;

	for (size_t i = 0; i < retention->count; i++)
		total += size_of(&retention->tenants[i]);
	if (!retention->count || !excess)
		return 0;
	share = (total > excess ? total - excess : 0) / retention->count;
	for (size_t i = 0; i < retention->count; i++) {
		const struct tenant *tenant = &retention->tenants[i];
		int r = size_of(tenant) > share
				? index_find_oldest(store->index, tenant->uid, &victim->closed)
				: 0;

		if (r != 0)
			return r;
	}
	return 0;
}

static int find_too_much(struct store *store, struct victim *victim)
{
	const struct retention *retention = store->retention;
	uint64_t most = retention->limits.keep_bytes, total = 0;
	int r;

	for (size_t i = 0; i < retention->count; i++)
		total += size_of(&retention->tenants[i]);
	if (!most || total <= most)
		return 0;
	r = find_of_greatest(store, total - most, victim);
	snprintf(victim->why, sizeof(victim->why),
		"the store had %" PRIu64 " MiB, of %" PRIu64 ", its owner most of all", total / MIB,
		most / MIB);
	return r;
}

/* Before records have to wait. */
static uint64_t missing_room(const struct store *store)
{
	int64_t wanted = (int64_t)(store->retention->keep_free_bytes / RETENTION_AHEAD_PART +
				   STORE_RESERVE_BYTES);
	int64_t left = store->room && store->retention->keep_free_bytes ? room_left(store->room)
									: INT64_MAX;

	return left < wanted ? (uint64_t)(wanted - left) : 0;
}

static int find_for_room(struct store *store, struct victim *victim)
{
	int r = find_of_greatest(store, missing_room(store), victim);

	snprintf(victim->why, sizeof(victim->why),
		"the disk had less than %" PRIu64 " MiB to spare, its owner most of all",
		store->retention->keep_free_bytes / MIB);
	return r;
}

/* ---- when ---------------------------------------------------------------------------------- */

void retention_hurry(struct store *store)
{
	if (store->retention)
		store->retention->pass_ns = 0;
}

uint64_t retention_next_ns(const struct retention *retention)
{
	if (!retention)
		return UINT64_MAX;
	if (retention->is_going_on)
		return 0;
	return retention->pass_ns < retention->look_ns ? retention->pass_ns : retention->look_ns;
}

static bool is_due(struct store *store)
{
	struct retention *retention = store->retention;
	uint64_t now_ns = clock_monotonic_ns();
	bool is_due = retention->is_going_on || now_ns >= retention->pass_ns;

	if (!is_due && now_ns >= retention->look_ns)
		is_due = missing_room(store) > 0;
	if (is_due && !retention->is_going_on)
		(void)index_unkeep(store->index, is_read);
	if (is_due)
		retention->pass_ns = now_ns + PASS_NS;
	retention->look_ns = now_ns + (store->databases ? LOOK_NS : PASS_NS);
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
	if (!store->retention || clock_monotonic_ns() < retention_next_ns(store->retention) ||
		!is_due(store))
		return;
	r = weigh_tenants(store);
	if (r == 0)
		r = find_over_quota(store, true, &victim);
	if (r == 0)
		r = find_old(store, &victim);
	if (r == 0)
		r = find_over_quota(store, false, &victim);
	if (r == 0)
		r = find_too_much(store, &victim);
	if (r == 0)
		r = find_for_room(store, &victim);
	if (r == 1)
		r = let_go(store, &victim) < 0 ? -EAGAIN : 1;
	store->retention->is_going_on = r == 1;
	if (r == 1 || (r == 0 && !store->retention->has_readers))
		return;
	store->retention->has_readers = false;
	store->retention->pass_ns = clock_monotonic_ns() + LOOK_NS;
}

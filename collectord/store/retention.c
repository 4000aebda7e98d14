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
#include "collectord/channel/channel.h"
#include "collectord/channel/ledger.h"
#include "collectord/channel/seat.h"
#include "collectord/db/tenant_files.h"
#include "collectord/store/internal.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "proto/base/fault.h"
#include "proto/base/limits.h"
#include "proto/base/format.h"

/* Intervals between two passes over everything, and between two looks at the free room. */
#define PASS_NS		     60000000000u
#define ROOM_CHECK_NS	     1000000000u
#define MIB		     (1u << 20)
#define DAY_S		     86400u
#define WHY_BYTES	     160
/* How long other work waits for a removal. */
#define REMOVAL_WAIT_NS	     250000000u
/* The same at the end of the store. */
#define REMOVAL_WAIT_LAST_NS 2000000000u

static const char is_read[] = "it is being read";

/*
 * A removal that runs in a process of its own (removal.h). Only one runs at a time. Its owner can
 * delay it.
 */
struct retention_removal {
	char *database; /* NULL: none */
	pid_t pid;
	uid_t uid;
};

struct retention {
	char *folder; /* absolute, without links */
	struct quota_limits limits;
	uint64_t keep_free_bytes;
	uint64_t pass_ns;	  /* CLOCK_MONOTONIC of the next pass, or of the next settle() */
	uint64_t room_checked_ns; /* CLOCK_MONOTONIC of the last look at the free room */
	bool was_storing;	  /* whether records were being stored at that look */
	uint64_t wanted_ns;	  /* until then a failed opening counts as storing */
	bool is_pass_open;	  /* a pass is under way */
	bool has_readers;	  /* a file to be removed is being read: retry soon */
	struct retention_removal removal;
	/* The index knows where its files are now; until then they look deleted. */
	bool is_settled;
	/* Sizes of all tenants' databases; a worker uses the ledger's array. */
	struct ledger_tenant *tenants;
	unsigned n_tenants;
	struct ledger_tenant *own;  /* the tenant of this store */
	struct ledger_tenant alone; /* used if there is no other tenant */
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
	atomic_store(&retention->alone.owner, 1);
	retention->tenants = config->seat ? config->seat->ledger->tenant : &retention->alone;
	retention->n_tenants = config->seat ? LEDGER_TENANTS_MAX : 1;
	retention->own = config->seat ? config->seat->page : &retention->alone;
	store->retention = retention;
	return retention->folder ? 0 : -errno;
}

const char *retention_folder(const struct store *store)
{
	return store->retention ? store->retention->folder : NULL;
}

void retention_free(struct retention *retention)
{
	if (!retention)
		return;
	free(retention->removal.database);
	free(retention->folder);
	free(retention);
}

/* ---- answers --------------------------------------------------------------------------- */

/* Answers that retention removed one session; @data is the store. */
static void say_removed(const struct index_removed *removed, void *data)
{
	const struct index_entry *session = &removed->session;
	struct store_answer answer = {
		.kind = STORE_REMOVED,
		.name = text_copy(session->name),
		.job = text_copy(session->job),
		.database = text_copy(session->database),
		.text = text_copy(removed->why),
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

/* Reports that a database cannot be removed, for the reason @why. */
static void say_kept(struct store *store, const char *database, const char *why)
{
	answer_text(store, STORE_KEPT, 0, "%s: cannot be removed: %s", database, why);
}

/* True for errors that end by themselves; a session that stores reports those. */
static bool is_transient(int error)
{
	return error == -EBUSY || error == -ENOMEM || error == -ENOSPC;
}

void retention_say_index(struct store *store, int error)
{
	const char *path = index_file_path(store->index);
	int gone = error ? storage_check_file(path) : 0;

	error = gone < 0 ? gone : error; /* SQLite only reports that it may not write to the file */
	if (is_transient(error) || error == store->index_error)
		return;
	store->index_error = error;
	if (error)
		answer_text(store, STORE_KEPT, 0,
			"%s: %s: no closed session is removed, and new ones are not listed, until "
			"the collector is started again",
			path, store_explain(error));
	else
		answer_text(store, STORE_KEPT, 0, "%s: works again", path);
}

static const char *explain(int error)
{
	return error == -ELOOP	       ? "it is a symbolic link, or lies behind one"
	       : error == -EMEDIUMTYPE ? "it is not a database of rtl"
	       : error == -EPERM       ? "it is not ours"
				       : store_explain(error);
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
		.database = text_copy(database),
		.text = text_copy(INDEX_OWNERS_REQUEST),
		.removed = {.uid = uid, .was_requested = true},
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

/*
 * Starts the removal of a database that the index lists as being removed. If another removal is
 * under way, the next start of the collector does it.
 */
static void begin(const char *database, uid_t uid, bool is_replaced, void *data)
{
	struct store *store = data;
	struct retention_removal *removal = &store->retention->removal;

	if (is_replaced) {
		finish(store, database, uid, 0);
		return;
	}
	if (removal->database)
		return;
	*removal = (struct retention_removal){.database = strdup(database), .uid = uid};
	removal->pid = removal->database ? removal_start(store->retention->folder, database, uid)
					 : -ENOMEM;
	if (removal->pid < 0) {
		finish(store, database, uid, removal->pid);
		free(TAKE(removal->database));
	}
}

/* Finishes the removal whose process has ended. */
static void end_removal(struct store *store)
{
	struct retention_removal *removal = &store->retention->removal;
	CLEANUP(free_p) char *database = NULL;
	int r = removal->database ? removal_end(removal->pid) : -EAGAIN;

	if (r == -EAGAIN)
		return;
	FAULT_POINT("removal_unlinked");
	database = TAKE(removal->database);
	finish(store, database, removal->uid, r);
	store->retention->is_pass_open = true;
}

/* Waits until no removal is under way, but no longer than @ns. */
static void await(struct store *store, uint64_t ns)
{
	const struct timespec moment = {.tv_nsec = 1000000};
	uint64_t begin_ns = clock_monotonic_ns();

	end_removal(store);
	while (store->retention->removal.database && clock_monotonic_ns() < begin_ns + ns) {
		store_beat(store);
		(void)nanosleep(&moment, NULL);
		end_removal(store);
	}
}

void retention_finish(struct store *store)
{
	if (store->retention)
		await(store, REMOVAL_WAIT_LAST_NS);
}

bool retention_is_removing(const struct store *store, const char *path)
{
	const struct retention *retention = store->retention;

	return retention && retention->removal.database &&
	       !strcmp(retention->removal.database, path);
}

/* Begins a removal that was under way when the collector ended, and waits a while for it. */
static void resume_removal(const char *database, uid_t uid, bool is_replaced, void *data)
{
	begin(database, uid, is_replaced, data);
	await(data, REMOVAL_WAIT_NS);
}

/*
 * Settles the index. If every file looks deleted, none is listed as removed; the next pass tries
 * again.
 */
static int settle(struct store *store)
{
	int r = index_settle(store->index);

	store->retention->is_settled = r == 0;
	store->retention->pass_ns = r == 0 ? 0 : clock_monotonic_ns() + ROOM_CHECK_NS;
	if (r < 0)
		return r;
	(void)index_each_removed(store->index, NULL, SESSIONS_REMOVED_MAX, say_removed, store);
	(void)index_each_going(store->index, resume_removal, store);
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
			return false; /* still written to: its close records what became of it */
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
	const char *database = victim->closed.database;
	int r = is_open_here(store, database) || store->retention->removal.database
			? -EBUSY
			: removal_check(store->retention->folder, database, victim->closed.uid);

	if (r < 0 && r != -ENOENT)
		return keep(store, database, r);
	r = index_begin_removal(store->index, database, victim->why);
	if (r < 0)
		return r;
	FAULT_POINT("removal_begun");
	begin(database, victim->closed.uid, false, store);
	await(store, REMOVAL_WAIT_NS);
	return 0;
}

/* ---- requests of owners -------------------------------------------------------------------- */

static int remove_owned(struct store *store, uid_t uid, const struct index_owned *owned)
{
	struct retention *retention = store->retention;
	int r;

	if (owned->is_open)
		return -ETXTBSY;
	if (owned->is_kept)
		return -EROFS;
	if (is_open_here(store, owned->database))
		return -EBUSY;
	if (retention->removal.database)
		return -EALREADY;
	r = removal_check(retention->folder, owned->database, uid);
	if (r < 0 && r != -ENOENT)
		return r;
	r = index_begin_removal(store->index, owned->database, INDEX_OWNERS_REQUEST);
	if (r < 0)
		return r;
	begin(owned->database, uid, false, store);
	await(store, REMOVAL_WAIT_NS);
	return retention_is_removing(store, owned->database) ? -EINPROGRESS : 0;
}

/* Returns -EDQUOT if the owner would keep too much with @database. */
static int check_share(struct store *store, const char *database)
{
	const uint64_t most = store->retention->limits.disk_bytes / KEPT_DISK_PART;
	unsigned count = 0;
	uint64_t bytes = 0;
	int r = index_count_owned(store->index, &count, &bytes);

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
		.database = text_copy(database),
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
		r = check_share(store, owned->database);
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

/* Tenants get entries from the front, so the first free one ends the list. */
static bool is_tenant(const struct retention *retention, const struct ledger_tenant *t)
{
	return t < retention->tenants + retention->n_tenants && atomic_load(&t->owner);
}

static uint64_t size_of(const struct ledger_tenant *tenant)
{
	return atomic_load(&tenant->closed_bytes) + atomic_load(&tenant->open_bytes);
}

/* Measures the databases and publishes the sums. Returns 1 if files are left to measure. */
static int weigh(struct store *store)
{
	struct ledger_tenant *own = store->retention->own;
	struct index_totals totals = {0};
	uint64_t open_bytes = 0;
	int r = index_weigh(store->index, bytes_of);

	if (r == 0)
		r = index_totals_read(store->index, &totals);
	if (r != 0)
		return r;
	for (const struct store_database *d = store->databases; d; d = d->next)
		open_bytes += bytes_of(d->writer->path);
	atomic_store(&own->closed_bytes, totals.closed_bytes);
	atomic_store(&own->closed, totals.closed);
	atomic_store(&own->open_bytes, open_bytes);
	store->account.closed_bytes = totals.closed_bytes;
	quota_weigh(&store->account);
	return 0;
}

void retention_publish_sizes(struct store *store)
{
	while (store->retention && weigh(store) == 1)
		store_beat(store);
}

static uint64_t total_of(const struct retention *retention)
{
	uint64_t total = 0;

	for (const struct ledger_tenant *t = retention->tenants; is_tenant(retention, t); t++)
		total += size_of(t);
	return total;
}

/* Returns each tenant's equal share of the total less @excess. */
static uint64_t share_without(const struct retention *retention, uint64_t excess)
{
	uint64_t total = total_of(retention), count = 0;

	for (const struct ledger_tenant *t = retention->tenants; is_tenant(retention, t); t++)
		count += size_of(t) > 0;
	return total > excess && count ? (total - excess) / count : 0;
}

/* Returns the largest other tenant that has closed sessions; NULL if there is none. */
static const struct ledger_tenant *find_greatest(const struct retention *retention)
{
	const struct ledger_tenant *greatest = NULL;

	for (const struct ledger_tenant *t = retention->tenants; is_tenant(retention, t); t++)
		if (t != retention->own && atomic_load(&t->closed_bytes) &&
			(!greatest || size_of(t) > size_of(greatest)))
			greatest = t;
	return greatest;
}

/*
 * True if this tenant has the most bytes, and more than its share, and can give something back.
 * Otherwise asks the tenant that has the most. The store asks at most once a second; if the channel
 * is full, it asks again a second later.
 */
static bool must_give_back(
	const struct store *store, uint64_t excess, bool is_room, bool has_closed)
{
	const struct retention *retention = store->retention;
	const struct ledger_tenant *other = find_greatest(retention);
	uint64_t share = share_without(retention, excess);
	uint64_t own = has_closed ? size_of(retention->own) : 0;
	struct channel_message message = {.kind = CHANNEL_GIVE_BACK, .number = is_room};

	if (own > share && (!other || own >= size_of(other)))
		return true;
	if (!other || size_of(other) <= share)
		return false;
	message.owner = atomic_load(&other->owner) - 1;
	(void)channel_send(store->seat->channel, &message, -1);
	return false;
}

/* ---- reasons ------------------------------------------------------------------------------- */

static bool is_too_old(
	const struct retention *retention, const struct index_closed *closed, char why[WHY_BYTES])
{
	uint64_t keep_ns = retention->limits.keep_s * 1000000000u;
	bool is_days = keep_ns % (DAY_S * 1000000000ull) == 0;

	if (!keep_ns || closed->end_ns + keep_ns >= clock_realtime_ns())
		return false;
	snprintf(why, WHY_BYTES, "closed more than %" PRIu64 " %s ago",
		keep_ns / 1000000000u / (is_days ? DAY_S : 1), is_days ? "days" : "s");
	return true;
}

/* The last closed session of a tenant is not removed for being too large: its quota admitted it. */
static bool is_over_quota(const struct retention *retention, char why[WHY_BYTES])
{
	uint64_t most = retention->limits.disk_bytes, size = size_of(retention->own);
	bool is_over = size > most && atomic_load(&retention->own->closed) > 1;

	if (atomic_load(&retention->own->open_bytes))
		is_over = size > most - most / QUOTA_AHEAD_PART;
	if (!most || !is_over)
		return false;
	snprintf(why, WHY_BYTES, "its owner had %" PRIu64 " MiB; the quota is %" PRIu64, size / MIB,
		most / MIB);
	return true;
}

/*
 * Bounds the number of closed sessions of a tenant, however small they are. Sessions that their
 * owner keeps have a limit of their own and do not count. As many as may be kept can be being read:
 * these do not count, so that no later session is removed in their place.
 */
static bool are_too_many(struct store *store, char why[WHY_BYTES])
{
	uint64_t most = store->retention->limits.keep_sessions, bytes, read = 0;
	unsigned closed = atomic_load(&store->retention->own->closed), kept = 0;

	if (!most || closed <= most || index_count_owned(store->index, &kept, &bytes) < 0 ||
		index_count_kept(store->index, is_read, &read) < 0 ||
		closed <= kept + most + (read < most ? read : most))
		return false;
	snprintf(why, WHY_BYTES, "its owner had %u closed sessions; %" PRIu64 " are kept", closed,
		most);
	return true;
}

static bool is_too_much(const struct store *store, bool has_closed, char why[WHY_BYTES])
{
	uint64_t most = store->retention->limits.keep_bytes, total = total_of(store->retention);

	if (!most || total <= most || !must_give_back(store, total - most, false, has_closed))
		return false;
	snprintf(why, WHY_BYTES,
		"the store had %" PRIu64 " MiB, of %" PRIu64 ", and its owner had the most",
		total / MIB, most / MIB);
	return true;
}

/* True if records need room now, or will in a moment. */
static bool is_storing(const struct store *store)
{
	return store->databases || store->opens.first ||
	       clock_monotonic_ns() < store->retention->wanted_ns;
}

/*
 * Returns how many bytes to free. Of these, *@ret_least are needed at once, since records wait
 * already.
 */
static uint64_t missing_room(const struct store *store, uint64_t *ret_least)
{
	int64_t wanted = (int64_t)(store->retention->keep_free_bytes / RETENTION_AHEAD_PART +
				   STORE_RESERVE_BYTES);
	int64_t left = INT64_MAX;

	/*
	 * While no session stores, a full disk removes nothing, so a user cannot push out others'
	 * sessions.
	 */
	if (store->room && store->retention->keep_free_bytes && is_storing(store))
		left = room_left(store->room);
	*ret_least = left < 0 ? (uint64_t)-left : 0;
	return left < wanted ? (uint64_t)(wanted - left) : 0;
}

/* Sums the bytes that removals could free over all tenants. */
static int can_give(struct store *store, uint64_t excess, uint64_t *ret)
{
	uint64_t share = share_without(store->retention, excess), kept = 0, all = 0;
	int r = index_kept_bytes(store->index, &kept);

	for (const struct ledger_tenant *t = store->retention->tenants;
		is_tenant(store->retention, t); t++) {
		uint64_t above = size_of(t) > share ? size_of(t) - share : 0;
		uint64_t closed_bytes = atomic_load(&t->closed_bytes);

		all += above < closed_bytes ? above : closed_bytes;
	}
	*ret = all > kept ? all - kept : 0;
	return r;
}

/* Returns 1 with @why, 0 or an error, like find_reason() below. */
static int lacks_room(struct store *store, bool has_closed, char why[WHY_BYTES])
{
	uint64_t least, missing = missing_room(store, &least), given = 0;
	int r = least ? can_give(store, missing, &given) : 0;

	/*
	 * If other programs fill the disk, removing everything would not help: then nothing is
	 * removed.
	 */
	if (r < 0 || given < least || !missing || !must_give_back(store, missing, true, has_closed))
		return r;
	snprintf(why, WHY_BYTES,
		"the disk had less than %" PRIu64 " MiB to spare, and its owner had the most",
		store->retention->keep_free_bytes / MIB);
	return 1;
}

/*
 * Returns 1 and sets @why if @oldest must be removed; 0 if it may stay, or if it is NULL and no
 * other tenant's session must be; else database_errno().
 */
static int find_reason(struct store *store, const struct index_closed *oldest, char why[WHY_BYTES])
{
	if (oldest &&
		(is_over_quota(store->retention, why) ||
			is_too_old(store->retention, oldest, why) || are_too_many(store, why)))
		return 1;
	if (is_too_much(store, oldest != NULL, why))
		return 1;
	return lacks_room(store, oldest != NULL, why);
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

	if (retention->is_pass_open)
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
	if (retention->removal.database && next_ns > clock_monotonic_ns() + ROOM_CHECK_NS)
		next_ns = clock_monotonic_ns() + ROOM_CHECK_NS;
	return next_ns;
}

static bool is_due(struct store *store)
{
	struct retention *retention = store->retention;
	uint64_t now_ns = clock_monotonic_ns(), least;
	bool is_due = retention->is_pass_open || now_ns >= retention->pass_ns;

	if (!is_due && now_ns >= next_room_check_ns(store))
		is_due = missing_room(store, &least) > 0;
	if (is_due && !retention->is_pass_open)
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
		end_removal(store);
	if (!store->retention || clock_monotonic_ns() < due_ns(store))
		return;
	if ((!store->retention->is_settled && settle(store) < 0) || !is_due(store))
		return;
	r = weigh(store);
	store->retention->is_pass_open = r == 1;
	if (r == 1)
		return;
	if (r == 0)
		r = index_find_oldest(store->index, &victim.closed);
	if (r >= 0)
		r = find_reason(store, r == 1 ? &victim.closed : NULL, victim.why);
	if (r == 1) {
		r = let_go(store, &victim);
		r = r < 0 ? r : 1;
	}
	if (r < 0)
		retention_say_index(store, r);
	store->retention->is_pass_open = r == 1;
	if (r == 1 || (r == 0 && !store->retention->has_readers))
		return;
	store->retention->has_readers = false;
	store->retention->pass_ns = clock_monotonic_ns() + ROOM_CHECK_NS;
}

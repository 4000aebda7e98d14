/* SPDX-License-Identifier: MIT */
/*
 * Tells a session once when its tenant exceeds the quota, and again when it no longer does, with
 * what the session was granted in all. Only committed figures are reported.
 */
#include <inttypes.h>
#include <stdio.h>

#include "collectord/catalog/free_space.h"
#include "collectord/store/retention.h"
#include "collectord/db/tenant_files.h"
#include "collectord/store/internal.h"
#include "proto/base/clock.h"
#include "proto/base/container_tenant.h"
#include "proto/base/subordinate_uids.h"

/* A tenant is within its quota again if nothing was dropped for this time. */
#define CALM_NS	   2000000000u
#define TEXT_BYTES 200
#define MIB	   (1u << 20)

static void say(
	const struct store_database *database, enum store_answer_kind kind, const char *text)
{
	for (struct store_session *s = database->first_session; s; s = s->sibling)
		answer_session(s, kind, 0, text);
}

#define TENANT_BYTES 24

/* The account of a container is that of all its uids. */
static const char *name_tenant(const struct store_database *database, char ret[TENANT_BYTES])
{
	const struct store_session *session = database->first_session;
	uid_t uid = subuids_owner(session->store->subuids, session->uid);

	snprintf(ret, TENANT_BYTES, "%s %u", container_is_tenant(uid) ? "container" : "uid",
		(unsigned)uid);
	return ret;
}

static void say_over(struct store_database *database)
{
	const struct quota *quota = &database->writer->quota;
	const struct quota_limits *limits = &quota->account->limits;
	char text[TEXT_BYTES], tenant[TENANT_BYTES];

	switch (quota->why) {
	case QUOTA_WITHIN:
		return; /* nothing was dropped */
	case QUOTA_RECORDS:
	case QUOTA_BYTES:
		snprintf(text, sizeof(text),
			"over quota: %s sends more than %" PRIu64 " %s a second; the rest is "
			"counted, and not stored",
			name_tenant(database, tenant),
			quota->why == QUOTA_BYTES ? limits->bytes_per_s / MIB
						  : limits->records_per_s,
			quota->why == QUOTA_BYTES ? "MiB" : "records");
		break;
	case QUOTA_DISK:
		snprintf(text, sizeof(text),
			"over quota: %s has %" PRIu64 " MiB on the disk, of %" PRIu64
			"; what comes now is counted, and not stored",
			name_tenant(database, tenant),
			(quota->account->open_bytes + quota->account->closed_bytes) / MIB,
			limits->disk_bytes / MIB);
		break;
	}
	say(database, STORE_OVER_QUOTA, text);
}

static void say_within(struct store_database *database)
{
	const struct quota *quota = &database->writer->quota;
	char text[TEXT_BYTES], tenant[TENANT_BYTES];

	database->over_quota_ns = 0;
	if (!database->first_session)
		return;
	snprintf(text, sizeof(text), "%s, quota: %" PRIu64 " records granted, %" PRIu64 " dropped",
		name_tenant(database, tenant), quota->total.granted, quota->total.dropped);
	say(database, STORE_WITHIN_QUOTA, text);
}

static void weigh(struct store *store, struct store_database *database)
{
	struct quota_account *account = database->writer->quota.account;
	uint64_t bytes = (uint64_t)storage_database_bytes(database->writer->path);
	bool was_near = account->is_near_disk;

	account->open_bytes += bytes - database->bytes;
	database->bytes = bytes;
	quota_weigh(account);
	if (account->is_near_disk && !was_near)
		retention_hurry(store);
}

void over_quota_check(struct store *store, struct store_database *database)
{
	struct quota *quota = &database->writer->quota;
	uint64_t now_ns = clock_monotonic_ns();

	if (!quota->account)
		return;
	weigh(store, database);
	if (quota->total.dropped != database->told_dropped) {
		database->told_dropped = quota->total.dropped;
		if (!database->over_quota_ns)
			say_over(database);
		database->over_quota_ns = now_ns;
	} else if (database->over_quota_ns && now_ns >= over_quota_next_ns(database)) {
		say_within(database);
	}
}

uint64_t over_quota_next_ns(const struct store_database *database)
{
	return database->over_quota_ns ? database->over_quota_ns + CALM_NS : UINT64_MAX;
}

bool over_quota_has_any(const struct quota_limits *limits)
{
	return limits->records_per_s || limits->bytes_per_s || limits->disk_bytes ||
	       limits->memory_bytes || limits->names_per_day;
}

void over_quota_limit(struct store *store, const struct store_limits *limits)
{
	quota_limit(&store->account, &limits->quota);
	/* Where there is none any more, the account allows everything. */
	store->has_quotas |= over_quota_has_any(&limits->quota);
	for (struct store_database *d = store->databases; d; d = d->next)
		if (d->first_session)
			over_quota_open(d->first_session);
	if (store->room)
		room_keep_free(store->room, limits->keep_free_bytes);
	retention_limit(store, limits);
}

void over_quota_open(struct store_session *session)
{
	struct store *store = session->store;
	struct store_database *database = session->database;
	struct quota *quota = &database->writer->quota;

	if (!store->has_quotas || quota->account)
		return;
	quota->account = &store->account;
	intern_set_account(&database->writer->intern, quota->account);
	weigh(store, database);
}

void over_quota_close(struct store *store, struct store_database *database)
{
	struct quota *quota = &database->writer->quota;

	if (!quota->account)
		return;
	if (quota->total.dropped)
		say_within(database);
	intern_set_account(&database->writer->intern, NULL);
	quota->account->open_bytes -= database->bytes;
	quota->account = NULL;
	retention_hurry(store);
}

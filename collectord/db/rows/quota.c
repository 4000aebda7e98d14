/* SPDX-License-Identifier: MIT */
#include "collectord/db/rows/quota.h"

#include "proto/base/clock.h"
#include "proto/base/limits.h"

#define DAY_NS (86400u * 1000000000ull)

void quota_limit(struct quota_account *account, const struct quota_limits *limits)
{
	account->limits = *limits;
	if (!account->limits.burst_s)
		account->limits.burst_s = 1;
	account->records = (double)(limits->records_per_s * account->limits.burst_s);
	account->bytes = (double)(limits->bytes_per_s * account->limits.burst_s);
	account->filled_ns = clock_monotonic_ns();
	quota_weigh(account);
}

static void add(double *bucket, double more, uint64_t per_s, uint64_t burst_s)
{
	double most = (double)(per_s * burst_s);

	*bucket += more;
	if (*bucket > most)
		*bucket = most;
}

static void fill(struct quota_account *account)
{
	const struct quota_limits *limits = &account->limits;
	uint64_t now_ns = clock_monotonic_ns();
	double seconds = (double)(now_ns - account->filled_ns) / 1e9;

	account->filled_ns = now_ns;
	add(&account->records, seconds * (double)limits->records_per_s, limits->records_per_s,
		limits->burst_s);
	add(&account->bytes, seconds * (double)limits->bytes_per_s, limits->bytes_per_s,
		limits->burst_s);
}

/* Returns the limit that forbids it, or QUOTA_WITHIN. */
static enum quota_why refuse(struct quota_account *account, double records, double bytes)
{
	fill(account);
	if (account->is_over_disk)
		return QUOTA_DISK;
	if (account->limits.records_per_s && account->records < records)
		return QUOTA_RECORDS;
	if (account->limits.bytes_per_s && account->bytes < bytes)
		return QUOTA_BYTES;
	return QUOTA_WITHIN;
}

bool quota_take(struct quota *quota, uint64_t records, uint64_t bytes)
{
	enum quota_why why;

	if (!quota->account)
		return true;
	why = refuse(quota->account, (double)records, (double)bytes);
	if (why != QUOTA_WITHIN) {
		quota->why = why;
		quota->open.dropped += records;
		return false;
	}
	quota->account->records -= (double)records;
	quota->account->bytes -= (double)bytes;
	quota->open.granted += records;
	quota->open.granted_bytes += bytes;
	return true;
}

void quota_return(struct quota *quota, uint64_t records, uint64_t bytes)
{
	if (!quota->account)
		return;
	/* If a bucket is now above its limit, the next fill cuts it. */
	quota->account->records += (double)records;
	quota->account->bytes += (double)bytes;
	quota->open.granted -= records;
	quota->open.granted_bytes -= bytes;
}

void quota_forget_dropped(struct quota *quota, uint64_t records)
{
	if (quota->account)
		quota->open.dropped -= records;
}

void quota_commit(struct quota *quota)
{
	quota->total.granted += quota->open.granted;
	quota->total.dropped += quota->open.dropped;
	quota->total.granted_bytes += quota->open.granted_bytes;
	quota->open = (struct quota_sum){0};
}

void quota_rollback(struct quota *quota)
{
	struct quota_account *account = quota->account;

	quota_return(quota, quota->open.granted, quota->open.granted_bytes);
	/* A new day may have begun since the names were counted. */
	if (account)
		account->names -=
			quota->open.names < account->names ? quota->open.names : account->names;
	quota->open = (struct quota_sum){0};
}

bool quota_has_memory(const struct quota_account *account, uint64_t bytes, enum quota_memory what)
{
	uint64_t most = account ? account->limits.memory_bytes : 0;
	uint64_t part = what == QUOTA_CACHE ? most / 4 : what == QUOTA_NAMES ? most / 2 : most;

	return !most || account->memory_bytes + bytes <= part;
}

void quota_charge(struct quota_account *account, int64_t bytes)
{
	if (account)
		account->memory_bytes += (uint64_t)bytes;
}

bool quota_has_disk(const struct quota *quota)
{
	return !quota->account || !quota->account->is_over_disk;
}

bool quota_take_name(struct quota *quota, unsigned parts)
{
	struct quota_account *account = quota->account;
	uint64_t now_ns;

	if (!account || !account->limits.names_per_day)
		return true;
	now_ns = clock_monotonic_ns();
	if (now_ns >= account->day_ns) {
		account->day_ns = now_ns + DAY_NS;
		account->names = 0;
	}
	if (account->names + parts > account->limits.names_per_day)
		return false;
	account->names += parts;
	quota->open.names += parts;
	return true;
}

void quota_weigh(struct quota_account *account)
{
	uint64_t most = account->limits.disk_bytes;
	uint64_t used = account->open_bytes + account->closed_bytes;

	account->is_near_disk = most && used > most - most / QUOTA_AHEAD_PART;
	account->is_over_disk = most && used > most;
}

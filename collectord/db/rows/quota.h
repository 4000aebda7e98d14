/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Limits what a tenant, whose databases are all of a store, may have: records and bytes a second,
 * from token buckets that fill with time, and bytes on the disk. A frame is granted whole, or
 * dropped whole and counted (dropped_quota). A rollback gives back what its transaction took,
 * because its frames come again. Store thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What tenants may store, and for how long it is kept. 0: no limit. */
struct quota_limits {
	/* Limits of the tenant; see below. */
	uint64_t records_per_s;
	uint64_t bytes_per_s;  /* of frames */
	uint64_t burst_s;      /* the seconds that both buckets hold; 0: one */
	uint64_t disk_bytes;   /* of its databases, open and closed */
	uint64_t memory_bytes; /* of its definitions */
	uint64_t names_per_day;
	/* Limits for the whole store; see retention.h. */
	uint64_t keep_s;	/* after a session was closed */
	uint64_t keep_bytes;	/* of all databases, open and closed */
	uint64_t keep_sessions; /* closed ones, of one uid */
};

/* The account of a tenant, over all its databases. */
struct quota_account {
	struct quota_limits limits;
	double records; /* left in the bucket */
	double bytes;
	uint64_t filled_ns; /* CLOCK_MONOTONIC */
	uint64_t open_bytes;
	uint64_t closed_bytes;
	bool is_over_disk;
	uint64_t memory_bytes; /* of definitions */
	uint64_t names;	       /* new ones in the day that ends at ... */
	uint64_t day_ns;       /* ... CLOCK_MONOTONIC */
	bool is_near_disk;     /* closed sessions are removed before live ones have to stop */
};

enum quota_why {
	QUOTA_WITHIN,
	QUOTA_RECORDS,
	QUOTA_BYTES,
	QUOTA_DISK,
};

struct quota_sum {
	uint64_t granted; /* records */
	uint64_t dropped;
	uint64_t granted_bytes;
	uint64_t names; /* new ones in the file */
};

/* The quota of one database. All zero: no limit. */
struct quota {
	struct quota_account *account;
	struct quota_sum open;	/* in the open transaction */
	struct quota_sum total; /* committed, in this run of the collector */
	enum quota_why why;	/* of the last drop */
};

/* Sets the limits, also in place of others. The buckets are full again. */
void quota_limit(struct quota_account *account, const struct quota_limits *limits);

/* True if so much may be stored; the account is then charged for it. */
bool quota_take(struct quota *quota, uint64_t records, uint64_t bytes);
/* Gives back what was taken in the same transaction but not stored. */
void quota_return(struct quota *quota, uint64_t records, uint64_t bytes);
/* Takes back the count of dropped records, because their frame was refused. */
void quota_forget_dropped(struct quota *quota, uint64_t records);

/* Called with the commit or rollback of the database. */
void quota_commit(struct quota *quota);
void quota_rollback(struct quota *quota);

enum quota_memory {
	QUOTA_CACHE,  /* may fill a quarter of the memory: caches, which are dispensable */
	QUOTA_NAMES,  /* may fill half of it */
	QUOTA_TABLES, /* may fill all of it: dispatches cannot be stored without these */
};

/* True if there is memory for @bytes more. Without an account (@account is NULL) it is always
 * true. */
bool quota_has_memory(const struct quota_account *account, uint64_t bytes, enum quota_memory what);
/* Charges the account, or credits it if @bytes is negative. */
void quota_charge(struct quota_account *account, int64_t bytes);

/* True if the tenant has room on the disk. For data that is no record: its loss is not counted
 * here. */
bool quota_has_disk(const struct quota *quota);

/* True if one more name, which counts as @parts, may be stored; it is then charged. */
bool quota_take_name(struct quota *quota, unsigned parts);

/* Decides by the present size of the account's databases whether it may store more. */
void quota_weigh(struct quota_account *account);

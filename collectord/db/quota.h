/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What a tenant may store, counted per uid: records and bytes a second, out of buckets that fill as
 * time goes by, and bytes on the disk. A frame is granted whole, or dropped whole and counted
 * (dropped_quota). What a transaction took is given back when it is rolled back: its frames
 * come again. Store thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collectord/db/hash.h"

/* What tenants may store, and for how long it is kept. 0: without end. */
struct quota_limits {
	/* Of one uid, with what is subordinate to it; see below. */
	uint64_t records_per_s;
	uint64_t bytes_per_s; /* of frames */
	uint64_t burst_s;     /* so many seconds of both at once; 0: one */
	uint64_t disk_bytes;  /* of its databases, open and closed */
	uint64_t memory_bytes; /* of its definitions */
	uint64_t names_per_day;
	/* Of the whole store; see retention.h. */
	uint64_t keep_s;	/* after a session was closed */
	uint64_t keep_bytes;	/* of all databases, open and closed */
	uint64_t keep_sessions; /* closed ones, of one uid */
};

/* Of one uid, over all its databases. */
struct quota_account {
	UT_hash_handle hh;
	bool is_lost; /* the table could not grow for it */
	uid_t uid;
	const struct quota_limits *limits;
	double records;	    /* left in the bucket */
	double bytes;
	uint64_t filled_ns; /* CLOCK_MONOTONIC */
	uint64_t open_bytes;
	uint64_t closed_bytes;
	bool is_over_disk;
	uint64_t memory_bytes; /* of definitions */
	uint64_t names;	       /* new ones in the day that ends at ... */
	uint64_t day_ns;       /* ... CLOCK_MONOTONIC */
	bool is_near_disk;     /* so that closed ones go before live ones have to stop */
};

struct quotas {
	struct quota_limits limits;
	struct quota_account *accounts; /* of whoever had a session: never freed before the end */
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

/* Of one database. All zero: no quota. */
struct quota {
	struct quota_account *account;
	struct quota_sum open;	/* in the open transaction */
	struct quota_sum total; /* committed, in this life of the collector */
	enum quota_why why;	/* of the last drop */
};

void quotas_init(struct quotas *quotas, const struct quota_limits *limits);
void quotas_done(struct quotas *quotas);

/* The account of @uid, made on first sight with full buckets. NULL: no memory. */
struct quota_account *quotas_account(struct quotas *quotas, uid_t uid);

/* May so much be stored? True: it is charged for. */
bool quota_take(struct quota *quota, uint64_t records, uint64_t bytes);
/* It was not stored after all, in the same transaction. */
void quota_return(struct quota *quota, uint64_t records, uint64_t bytes);
/* Nor was it dropped: its frame was refused. */
void quota_forget_dropped(struct quota *quota, uint64_t records);

/* With the transaction of the database. */
void quota_commit(struct quota *quota);
void quota_rollback(struct quota *quota);

enum quota_memory {
	QUOTA_CACHE,  /* may fill a quarter of it: what can be done without */
	QUOTA_NAMES,  /* half of it */
	QUOTA_TABLES, /* ... and these the rest: they are what dispatches are stored by */
};

/* Is there room in memory for @bytes more? Of nobody (@account NULL): there is. */
bool quota_has_memory(const struct quota_account *account, uint64_t bytes, enum quota_memory what);
/* Taken, or given back. */
void quota_charge(struct quota_account *account, int64_t bytes);

/* What is no record is not counted where it is left out: has its tenant room for it on the disk? */
bool quota_has_disk(const struct quota *quota);

/* One more name in the file, that counts as @parts: may it be? */
bool quota_take_name(struct quota *quota, unsigned parts);

/* What the databases of the account take now decides whether more is let in. */
void quota_weigh(struct quota_account *account);

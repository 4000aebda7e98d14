/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * One open database: its connection, statements, mirror and feed, and the transaction that may
 * be open in it. Store thread. Who calls writer_rollback() has to reload every process.
 */
#include <stdbool.h>
#include <stdint.h>

#include "collectord/db/database.h"
#include "collectord/db/row_feed.h"
#include "collectord/db/intern.h"
#include "collectord/db/quota.h"
#include "collectord/db/statements.h"
#include "proto/wire/msg.h"

struct writer {
	sqlite3 *db;
	char *path;
	struct statements statements;
	struct intern intern;
	struct feed *feed;
	struct msg_arena *arena; /* borrowed: one for the thread */
	const struct database_patience *patience; /* borrowed; or NULL */
	struct quota quota;	 /* of whose database it is */
	bool is_open;		 /* a transaction */
	bool is_resumed;	 /* not made by this life of the collector: it may lack frames */
	bool was_cut;		 /* its log had lost what was committed: noted in it, not yet said */
	uint64_t cache_bytes;	 /* its share of all pages; 0: as much as one may have */
	uint64_t cache_now_bytes; /* what of that its transactions needed until now */
	uint64_t began_ns;	 /* CLOCK_MONOTONIC */
	uint64_t rows;		 /* of rtl_dispatch, in the open transaction */
	unsigned log_pages;	 /* of its log, by the last commit: see checkpoint.h */
	uint64_t life_pages;	 /* that its logs have had in all */
};

/* As database_open(); what @patience points to lives as long as the writer. */
int writer_open(const char *path, struct msg_arena *arena, const struct database_patience *patience,
	struct writer **ret);

/*
 * Lets go of a file that is damaged, as it is: no checkpoint, the log stays. Nothing can be begun
 * then (-EIO) until writer_attach() has opened what has its name now. As database_open().
 */
void writer_detach(struct writer *writer);
int writer_attach(struct writer *writer);

/* What of its pages it may keep in memory, now and after a writer_attach(): see
 * collectord/store/page_cache.h. */
void writer_set_cache(struct writer *writer, uint64_t bytes);

/* An open transaction is lost. Returns NULL. */
struct writer *writer_free(struct writer *writer);

/* Opens a transaction unless one is. */
int writer_begin(struct writer *writer);
int writer_commit(struct writer *writer);
/* Also empties the feed and reads the mirror again. */
int writer_rollback(struct writer *writer);

/* rtl_loss of the file as a whole, up to now, in place of what it said of @reason. */
int writer_put_loss(struct writer *writer, const char *reason, unsigned count);

/* rtl_meta. */
int writer_put_meta(struct writer *writer, const char *key, const char *text);
int writer_put_meta_number(struct writer *writer, const char *key, int64_t value);
/* Only where there is none yet. NULL does nothing. */
int writer_put_meta_first(struct writer *writer, const char *key, const char *text);

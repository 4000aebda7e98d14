/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * One open database: its connection, statements, mirror and feed, and the transaction that may be
 * open in it. Store thread. The caller of writer_rollback() has to reload every process.
 */
#include <stdbool.h>
#include <stdint.h>

#include "collectord/db/database.h"
#include "collectord/db/rows/row_feed.h"
#include "collectord/db/rows/intern.h"
#include "collectord/db/rows/quota.h"
#include "collectord/db/rows/statements.h"
#include "proto/wire/msg.h"

struct writer {
	sqlite3 *db;
	char *path;
	struct statements statements;
	struct intern intern;
	struct feed *feed;
	struct msg_arena *arena;		  /* borrowed: one for the thread */
	const struct database_patience *patience; /* borrowed; or NULL */
	struct quota quota;			  /* of the user that owns the database */
	bool is_open;				  /* a transaction is open */
	bool is_resumed; /* made by an earlier run of the collector: it may lack frames */
	bool was_cut;	 /* its WAL had lost committed data: noted in the file, not reported yet */
	uint64_t cache_bytes;	  /* its share of all pages; 0: the greatest share */
	uint64_t cache_now_bytes; /* the part of it that transactions have needed so far */
	uint64_t began_ns;	  /* CLOCK_MONOTONIC */
	uint64_t rows;		  /* of rtl_dispatch, in the open transaction */
	unsigned log_pages;	  /* of its WAL, after the last commit: see checkpoint.h */
	uint64_t life_pages;	  /* logged in all its WALs so far */
};

/* Opens like database_open(); the caller keeps @patience alive as long as the writer. */
int writer_open(const char *path, struct msg_arena *arena, const struct database_patience *patience,
	struct writer **ret);

/*
 * writer_detach() lets go of a damaged file and leaves it unchanged: no checkpoint, and the WAL
 * stays. No transaction can begin (-EIO) until writer_attach() has opened the file that has its
 * name now. Errors as database_open().
 */
void writer_detach(struct writer *writer);
int writer_attach(struct writer *writer);

/* Sets how many bytes of its pages it may keep in memory, now and after a writer_attach(): see
 * collectord/store/page_cache.h. */
void writer_set_cache(struct writer *writer, uint64_t bytes);

/* An open transaction is lost. Returns NULL. */
struct writer *writer_free(struct writer *writer);

/* Opens a transaction unless one is open. */
int writer_begin(struct writer *writer);
int writer_commit(struct writer *writer);
/* Also empties the feed and reloads the mirror. */
int writer_rollback(struct writer *writer);

/* Writes an rtl_loss row for the whole file, up to now, in place of an earlier one with @reason. */
int writer_put_loss(struct writer *writer, const char *reason, unsigned count);

/* These write a row of rtl_meta. */
int writer_put_meta(struct writer *writer, const char *key, const char *text);
int writer_put_meta_number(struct writer *writer, const char *key, int64_t value);
/* Writes only if there is no such row yet. NULL does nothing. */
int writer_put_meta_first(struct writer *writer, const char *key, const char *text);

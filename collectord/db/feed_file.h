/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A database in memory that SQLite reads as a file: the tables "rows" and "shapes", whose pages we
 * write. So a row is written once, in the form in which it will lie in the real database, and
 * SQLite copies it there without taking it apart (ADR 0012).
 *
 * SQLite keeps a file's pages while a transaction is open, in which we write anew what it has read.
 * It does not keep those that it borrows, as from a file that is mapped into memory: all but the
 * first one, which is fixed, are given to it that way alone, and any other way of reading them
 * fails. Store thread.
 */
#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

/* Rows of a leaf: as many as fit whatever is in them. */
#define FEED_FILE_PAGE_BYTES 8192u
#define FEED_FILE_LEAF_ROWS  64u
#define FEED_FILE_LEAVES     32u
#define FEED_FILE_ROWS	     (FEED_FILE_LEAF_ROWS * FEED_FILE_LEAVES)
/* Of a leaf in front of its rows: its header and where each row begins. */
#define FEED_FILE_LEAF_HEAD  (8u + 2u * FEED_FILE_LEAF_ROWS)
/* The shapes' leaf holds as many as fit: of these, whose numbers are small, four times as many. */
#define FEED_FILE_SHAPES     256u
#define FEED_FILE_SHAPE_HEAD (8u + 2u * FEED_FILE_SHAPES)
/* Pages are numbered from 1: the schema, the root of the rows, the shapes (one leaf of them), the
 * leaves. */
#define FEED_FILE_LEAF_PAGE  4u
#define FEED_FILE_BYTES	     ((FEED_FILE_LEAF_PAGE - 1u + FEED_FILE_LEAVES) * FEED_FILE_PAGE_BYTES)

struct feed_file {
	unsigned borrowed; /* pages that SQLite holds */
	uint8_t bytes[FEED_FILE_BYTES];
};

/* @file becomes the database "feed" of @db, which it must outlive. SQLite's code. */
int feed_file_attach(struct feed_file *file, sqlite3 *db);

/* The @i-th leaf, whose rows the caller writes. */
static inline uint8_t *feed_file_leaf(struct feed_file *file, unsigned i)
{
	return file->bytes + (size_t)(FEED_FILE_LEAF_PAGE + i - 1) * FEED_FILE_PAGE_BYTES;
}

/* The table has the first @rows rows of the leaves; at least one. -EBUSY: SQLite still reads. */
int feed_file_publish(struct feed_file *file, unsigned rows);

/* Their leaf, and as above. */
uint8_t *feed_file_shapes(struct feed_file *file);
int feed_file_publish_shapes(struct feed_file *file, unsigned rows);

/* Memory of the leaves from the @kept-th on is given back. Nothing is in them. */
void feed_file_release(struct feed_file *file, unsigned kept);

/* As SQLite writes them. */
static inline void feed_file_put_16(uint8_t *to, unsigned value)
{
	to[0] = (uint8_t)(value >> 8);
	to[1] = (uint8_t)value;
}

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A database in memory that SQLite reads as a file: the tables "rows" and "shapes", whose pages we
 * write. Each row is written once, in the form that it will have in the real database, and SQLite
 * copies it there without decoding it (ADR 0012).
 *
 * SQLite caches the pages of a file while a transaction is open, but we rewrite pages that it has
 * read meanwhile. It does not cache pages that it borrows, as from a file that is mapped into
 * memory. So all pages but the first, which never changes, are only lent to SQLite, and any other
 * read of them fails. Store thread.
 */
#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

/* Rows in a leaf: as many as fit whatever their values are. */
#define FEED_FILE_PAGE_BYTES 8192u
#define FEED_FILE_LEAF_ROWS  64u
#define FEED_FILE_LEAVES     32u
#define FEED_FILE_ROWS	     (FEED_FILE_LEAF_ROWS * FEED_FILE_LEAVES)
/* Bytes of a leaf before its rows: its header and the offset of each row. */
#define FEED_FILE_LEAF_HEAD  (8u + 2u * FEED_FILE_LEAF_ROWS)
/* The most rows in the leaf of shapes. Their values are small, so it usually holds that many. */
#define FEED_FILE_SHAPES     256u
#define FEED_FILE_SHAPE_HEAD (8u + 2u * FEED_FILE_SHAPES)
/* Pages are numbered from 1: the schema, the root of the rows, the shapes (one leaf), the leaves of
 * the rows. */
#define FEED_FILE_LEAF_PAGE  4u
#define FEED_FILE_BYTES	     ((FEED_FILE_LEAF_PAGE - 1u + FEED_FILE_LEAVES) * FEED_FILE_PAGE_BYTES)

struct feed_file {
	unsigned borrowed; /* pages that SQLite borrows now */
	uint8_t bytes[FEED_FILE_BYTES];
};

/* Attaches @file to @db as the database "feed"; @file must outlive @db. Returns SQLite's code. */
int feed_file_attach(struct feed_file *file, sqlite3 *db);

/* Returns the @i-th leaf, into which the caller writes rows. */
static inline uint8_t *feed_file_leaf(struct feed_file *file, unsigned i)
{
	return file->bytes + (size_t)(FEED_FILE_LEAF_PAGE + i - 1) * FEED_FILE_PAGE_BYTES;
}

/* Makes the table consist of the first @rows rows of the leaves, at least one. -EBUSY: SQLite still
 * reads. */
int feed_file_publish(struct feed_file *file, unsigned rows);

/* The leaf of the shapes, and the same for them. */
uint8_t *feed_file_shapes(struct feed_file *file);
int feed_file_publish_shapes(struct feed_file *file, unsigned rows);

/* Gives back the memory of the leaves from the @kept-th on, which must hold no rows. */
void feed_file_release(struct feed_file *file, unsigned kept);

/* Writes a number in SQLite's byte order, big-endian. */
static inline void feed_file_put_16(uint8_t *to, unsigned value)
{
	to[0] = (uint8_t)(value >> 8);
	to[1] = (uint8_t)value;
}

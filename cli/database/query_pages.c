// SPDX-License-Identifier: MIT
#include "cli/database/query_pages.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
#include "proto/base/cleanup.h"

/* Names as in sqlite.org/fileformat.html. */
#define PAGE_INTERIOR	  5
#define PAGE_LEAF	  13
#define INTERIOR_HEAD	  12u
#define LEAF_HEAD	  8u
#define CELL_BYTES_MIN	  6u
#define FILE_HEADER_BYTES 100
#define NO_LOG		  1
#define LOCK_BYTE_AT	  0x40000000u
#define USABLE_MIN	  480u
#define TYPE_ZERO	  8
#define TYPE_ONE	  9
#define TYPE_REAL	  7
/* A thousand million rows take three levels of pages of 4 KiB. */
#define DEPTH_MAX	  8
/* Pages of a table that grew alone are adjacent: this much is read at once. */
#define WINDOW_BYTES_MAX  (256u << 10)
/* Bytes that decoding a number at the very end of a page may read beyond it. */
#define SLACK_BYTES	  16

struct level {
	uint8_t *page; /* a copy */
	unsigned cell, cells;
	int64_t last; /* no rowid below is greater */
};

struct query_pages {
	sqlite3_file *file;
	struct query_pages_table table;
	uint32_t page_bytes, usable, page_count;
	uint8_t *window;
	uint64_t window_at, window_bytes, wanted;
	struct level levels[DEPTH_MAX];
	unsigned depth; /* number of levels in use */
	const uint8_t *leaf;
	unsigned cell, cells; /* in the leaf */
	int64_t leaf_last;
	bool has_id, is_begun;
	int64_t id; /* of the previous row */
	uint64_t count;
};

static unsigned get_16(const uint8_t *from)
{
	return (unsigned)from[0] << 8 | from[1];
}

static uint32_t get_32(const uint8_t *from)
{
	return (uint32_t)get_16(from) << 16 | get_16(from + 2);
}

/* Decodes at most 9 bytes. */
static const uint8_t *get_varint(const uint8_t *from, int64_t *ret)
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++) {
		value = value << 7 | (*from & 0x7f);
		if (!(*from++ & 0x80)) {
			*ret = (int64_t)value;
			return from;
		}
	}
	*ret = (int64_t)(value << 8 | *from);
	return from + 1;
}

/* ---- pages ----------------------------------------------------------------------------- */

static int read_file(struct query_pages *p, void *to, uint64_t bytes, uint64_t at)
{
	/* The file is truncated or the disk fails; SQLite reports which. */
	return p->file->pMethods->xRead(p->file, to, (int)bytes, (sqlite3_int64)at) ? -ENOTSUP : 0;
}

/* The more the pages are in the order of the tree, the more is read at once. */
static int fill_window(struct query_pages *p, uint64_t at)
{
	const uint64_t file_bytes = (uint64_t)p->page_count * p->page_bytes;
	bool is_next = p->window_bytes && at >= p->window_at + p->window_bytes &&
		       at <= p->window_at + 2 * p->window_bytes;

	p->wanted = !is_next			       ? p->page_bytes
		    : p->wanted * 2 > WINDOW_BYTES_MAX ? p->wanted
						       : p->wanted * 2;
	p->window_at = at;
	p->window_bytes = p->wanted < file_bytes - at ? p->wanted : file_bytes - at;
	return read_file(p, p->window, p->window_bytes, at);
}

/* Valid until the next call. */
static int read_page(struct query_pages *p, uint32_t number, const uint8_t **ret)
{
	uint64_t at = (uint64_t)(number - 1) * p->page_bytes;
	int r = 0;

	/*
	 * Page 1 contains the header of the file, and the page of the lock byte is never used:
	 * neither is part of a tree.
	 */
	if (number < 2 || number > p->page_count || at == LOCK_BYTE_AT)
		return -ENOTSUP;
	if (at < p->window_at || at + p->page_bytes > p->window_at + p->window_bytes)
		r = fill_window(p, at);
	*ret = p->window + (at - p->window_at);
	return r;
}

/*
 * A cell takes at least six bytes, including its entry in the array: if there are more cells,
 * SQLite reads none.
 */
static bool is_page_of_rows(const struct query_pages *p, const uint8_t *page)
{
	const unsigned cells = get_16(page + 3);
	const unsigned head = page[0] == PAGE_LEAF ? LEAF_HEAD : INTERIOR_HEAD;

	return (page[0] == PAGE_LEAF || page[0] == PAGE_INTERIOR) &&
	       cells <= (p->page_bytes - LEAF_HEAD) / CELL_BYTES_MIN &&
	       head + 2 * cells <= p->usable;
}

static int enter(struct query_pages *p, uint32_t number, int64_t last)
{
	struct level *level;
	const uint8_t *page;
	unsigned cells;

	if (read_page(p, number, &page) || !is_page_of_rows(p, page))
		return -ENOTSUP;
	cells = get_16(page + 3);
	/* A table may be empty, but a page below another may not. */
	if (!cells && (p->depth || page[0] == PAGE_INTERIOR))
		return -ENOTSUP;
	if (page[0] == PAGE_LEAF) {
		p->leaf = page;
		p->cell = 0;
		p->cells = cells;
		p->leaf_last = last;
		return 0;
	}
	if (p->depth == DEPTH_MAX)
		return -ENOTSUP;
	level = p->levels + p->depth;
	if (!level->page)
		level->page = xmalloc(p->page_bytes + SLACK_BYTES);
	memcpy(level->page, page, p->page_bytes);
	level->cell = 0;
	level->cells = cells;
	level->last = last;
	p->depth++;
	return 0;
}

/* Goes one step down: to the next child of the lowest level. */
static int descend(struct query_pages *p)
{
	struct level *level = p->levels + p->depth - 1;
	unsigned cell = level->cell++, at;
	int64_t key;

	if (cell == level->cells)
		return enter(p, get_32(level->page + 8), level->last);
	at = get_16(level->page + INTERIOR_HEAD + 2 * cell);
	if (at < INTERIOR_HEAD + 2 * level->cells || at + 5 > p->usable)
		return -ENOTSUP;
	if (get_varint(level->page + at + 4, &key) > level->page + p->usable || key > level->last)
		return -ENOTSUP;
	if (key < p->table.first_id)
		return 0;
	return enter(p, get_32(level->page + at), key);
}

/* Returns 1 for a leaf with rows, 0 at the end. */
static int next_leaf(struct query_pages *p)
{
	int r;

	p->leaf = NULL;
	if (!p->is_begun) {
		p->is_begun = true;
		r = enter(p, p->table.root, INT64_MAX);
		if (r || p->leaf)
			return r ? r : p->cells > 0;
	}
	while (p->depth) {
		const struct level *level = p->levels + p->depth - 1;

		if (level->cell > level->cells) {
			p->depth--;
			continue;
		}
		r = descend(p);
		if (r || p->leaf)
			return r ? r : 1;
	}
	return 0;
}

/* ---- rows ------------------------------------------------------------------------------ */

/* Indexed by a column's type. Types that are not whole numbers are left to SQLite. */
static const uint8_t type_bytes[] = {0, 1, 2, 3, 4, 6, 8, 0, 0, 0};

static int64_t get_number(const uint8_t *from, unsigned type)
{
	uint64_t bytes;

	if (!type_bytes[type])
		return type == TYPE_ONE;
	memcpy(&bytes, from, sizeof(bytes));
	return (int64_t)be64toh(bytes) >> (64 - 8 * type_bytes[type]);
}

/* @record has @bytes bytes: a header with types, and the values. */
static int get_record(
	struct query_pages *p, const uint8_t *record, unsigned bytes, struct query_pages_row *row)
{
	unsigned at[QUERY_PAGES_TABLE_COLUMNS], offset = bytes ? record[0] : 0;
	const unsigned fields = offset - 1;

	/*
	 * With so few columns the length of the header is one byte. SQLite requires at least one
	 * column.
	 */
	if (offset < 2 || fields > p->table.columns || offset > bytes)
		return -ENOTSUP;
	for (unsigned i = 0; i < fields; i++) {
		unsigned type = record[1 + i];

		if (type > TYPE_ONE || type == TYPE_REAL)
			return -ENOTSUP;
		at[i] = offset;
		offset += type_bytes[type];
	}
	if (offset != bytes)
		return -ENOTSUP;
	row->nulls = 0;
	for (unsigned i = 0; i < p->table.count; i++) {
		unsigned column = p->table.wanted[i];
		unsigned type = column < fields ? record[1 + column] : 0;

		row->numbers[i] = type ? get_number(record + at[column], type) : 0;
		row->nulls |= (unsigned)!type << i;
	}
	return 0;
}

/* Returns 1 with @row, or 0 if the row is not wanted. */
static int get_row(struct query_pages *p, struct query_pages_row *row)
{
	const uint8_t *end = p->leaf + p->usable, *from;
	unsigned at = get_16(p->leaf + LEAF_HEAD + 2 * p->cell);
	int64_t id;
	int r;

	/* A record of such a table has less than 128 bytes, so its length is one byte. */
	if (at < LEAF_HEAD + 2 * p->cells || at >= p->usable || p->leaf[at] & 0x80)
		return -ENOTSUP;
	from = get_varint(p->leaf + at + 1, &id);
	if (end - from < p->leaf[at] || (p->has_id && id <= p->id) || id > p->leaf_last)
		return -ENOTSUP;
	r = get_record(p, from, p->leaf[at], row);
	if (r)
		return r;
	p->has_id = true;
	p->id = id;
	return id >= p->table.first_id && id <= p->table.last_id;
}

int query_pages_next(struct query_pages *pages, struct query_pages_row *row)
{
	for (;;) {
		int r;

		while (!pages->leaf || pages->cell == pages->cells) {
			r = next_leaf(pages);
			if (r <= 0)
				return r;
		}
		r = get_row(pages, row);
		if (r < 0)
			return r;
		pages->cell++;
		if (r) {
			pages->count++;
			return 1;
		}
		if (pages->id > pages->table.last_id) {
			pages->leaf = NULL;
			pages->depth = 0;
		}
	}
}

uint64_t query_pages_count(const struct query_pages *pages)
{
	return pages->count;
}

/* ---- the file -------------------------------------------------------------------------- */

/*
 * True if the last writer kept the number of pages up to date and left no WAL: SQLite then reads
 * exactly what the file contains.
 */
static int read_head(struct query_pages *p)
{
	uint8_t head[FILE_HEADER_BYTES];
	sqlite3_int64 bytes;
	uint32_t size;

	if (read_file(p, head, sizeof(head), 0) || p->file->pMethods->xFileSize(p->file, &bytes))
		return -ENOTSUP;
	size = get_16(head + 16) == 1 ? 65536 : get_16(head + 16);
	if (memcmp(head, "SQLite format 3", 16) != 0 || size < 512 || size & (size - 1) ||
		head[18] != NO_LOG || head[19] != NO_LOG || size - head[20] < USABLE_MIN ||
		get_32(head + 24) != get_32(head + 92))
		return -ENOTSUP;
	p->page_bytes = size;
	p->usable = size - head[20];
	p->page_count = get_32(head + 28);
	return (uint64_t)bytes / size < p->page_count ? -ENOTSUP : 0;
}

int query_pages_new(sqlite3 *db, const struct query_pages_table *table, struct query_pages **ret)
{
	CLEANUP(query_pages_free_p) struct query_pages *p = NULL;
	sqlite3_file *file = NULL;

	/* The lock of the transaction keeps writers out. */
	if (sqlite3_txn_state(db, "main") == SQLITE_TXN_NONE ||
		sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) || !file ||
		!file->pMethods)
		return -ENOTSUP;
	p = xcalloc(1, sizeof(*p));
	p->file = file;
	p->table = *table;
	if (read_head(p))
		return -ENOTSUP;
	p->window = xmalloc(WINDOW_BYTES_MAX + SLACK_BYTES);
	*ret = TAKE(p);
	return 0;
}

void query_pages_free_p(struct query_pages **pages)
{
	if (!*pages)
		return;
	for (unsigned i = 0; i < DEPTH_MAX; i++)
		free((*pages)->levels[i].page);
	free((*pages)->window);
	free(*pages);
	*pages = NULL;
}

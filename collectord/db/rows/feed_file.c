/* SPDX-License-Identifier: MIT */
#include "collectord/db/rows/feed_file.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define VFS_NAME	  "rtl-feed"
/* Values as https://sqlite.org/fileformat.html defines them. */
#define PAGE_INTERIOR	  5
#define PAGE_LEAF	  13
#define FILE_HEADER_BYTES 100u
#define INTERIOR_HEAD	  (12u + 2u * FEED_FILE_LEAVES)
#define SCHEMA_FORMAT	  4
#define ENCODING_UTF8	  1
#define VERSION_OF_WRITER 3040000
#define ROOT		  2u
#define SHAPES		  3u
#define LEAF(i)		  (FEED_FILE_LEAF_PAGE + (i))

/* The columns are those of rtl_dispatch and rtl_shape; with others SQLite would decode each row. */
static const struct table {
	const char *name, *sql;
	unsigned root;
} tables[] = {
	{"rows",
		"CREATE TABLE rows (shape_id INTEGER NOT NULL, seq INTEGER NOT NULL, "
		"start INTEGER, duration INTEGER, submit INTEGER, tid INTEGER, marker INTEGER, "
		"untimed INTEGER, call INTEGER, node INTEGER)",
		ROOT},
	{"shapes",
		"CREATE TABLE shapes (id INTEGER PRIMARY KEY, process_id INTEGER NOT NULL, "
		"gpuId INTEGER NOT NULL, queueId INTEGER NOT NULL, kernel_id INTEGER NOT NULL, "
		"workgroupX INTEGER NOT NULL, workgroupY INTEGER NOT NULL, "
		"workgroupZ INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, "
		"gridZ INTEGER NOT NULL, lds INTEGER NOT NULL, scratch INTEGER NOT NULL)",
		SHAPES},
};
#define TABLES (sizeof(tables) / sizeof(tables[0]))

struct handle {
	sqlite3_file base;
	struct feed_file *file;
};

static sqlite3_vfs vfs;
static pthread_once_t once = PTHREAD_ONCE_INIT;
/* The file that an ATTACH of this thread refers to. */
static _Thread_local struct feed_file *attached;

/* ---- pages --------------------------------------------------------------------------------- */

static void put_32(uint8_t *to, uint32_t value)
{
	feed_file_put_16(to, value >> 16);
	feed_file_put_16(to + 2, value);
}

static uint8_t *page(struct feed_file *file, unsigned number)
{
	return file->bytes + (size_t)(number - 1) * FEED_FILE_PAGE_BYTES;
}

uint8_t *feed_file_shapes(struct feed_file *file)
{
	return page(file, SHAPES);
}

/* Writes a number below 2^14 as a varint of two bytes, even if one byte would do. */
static uint8_t *put_varint(uint8_t *to, unsigned value)
{
	to[0] = (uint8_t)(0x80 | value >> 7);
	to[1] = (uint8_t)(value & 0x7f);
	return to + 2;
}

static void put_file_header(uint8_t *to)
{
	memcpy(to, "SQLite format 3", 16);
	feed_file_put_16(to + 16, FEED_FILE_PAGE_BYTES);
	to[18] = to[19] = 1; /* no WAL */
	to[21] = 64;	     /* these three values are fixed */
	to[22] = to[23] = 32;
	put_32(to + 24, 1);
	put_32(to + 28, FEED_FILE_BYTES / FEED_FILE_PAGE_BYTES);
	put_32(to + 40, 1);
	put_32(to + 44, SCHEMA_FORMAT);
	put_32(to + 56, ENCODING_UTF8);
	put_32(to + 92, 1); /* as at 24: so SQLite believes the number of pages */
	put_32(to + 96, VERSION_OF_WRITER);
}

static uint8_t text_type(const char *text)
{
	return (uint8_t)(13 + 2 * strlen(text));
}

/* Writes a row of sqlite_schema that ends at @end: ('table', name, name, root, sql). Returns where
 * it begins. */
static unsigned put_table(uint8_t *to, unsigned end, const struct table *table, unsigned number)
{
	const char *const values[] = {"table", table->name, table->name};
	uint8_t head[] = {
		7, text_type("table"), text_type(table->name), text_type(table->name), 1, 0, 0};
	unsigned record = (unsigned)(sizeof(head) + 1 + strlen(table->sql)), at;
	uint8_t *cell;

	for (unsigned i = 0; i < 3; i++)
		record += (unsigned)strlen(values[i]);
	at = end - record - 3;
	(void)put_varint(head + 5, 13 + 2 * (unsigned)strlen(table->sql));
	cell = put_varint(to + at, record);
	*cell++ = (uint8_t)number;
	cell = mempcpy(cell, head, sizeof(head));
	for (unsigned i = 0; i < 3; i++)
		cell = mempcpy(cell, values[i], strlen(values[i]));
	*cell++ = (uint8_t)table->root;
	memcpy(cell, table->sql, strlen(table->sql));
	return at;
}

static void put_schema(uint8_t *to)
{
	uint8_t *head = to + FILE_HEADER_BYTES;
	unsigned at = FEED_FILE_PAGE_BYTES;

	for (unsigned i = 0; i < TABLES; i++) {
		at = put_table(to, at, &tables[i], i + 1);
		feed_file_put_16(head + 8 + 2 * i, at);
	}
	head[0] = PAGE_LEAF;
	feed_file_put_16(head + 3, TABLES);
	feed_file_put_16(head + 5, at);
}

/* Writes the root page. The place of each leaf is fixed; the number of leaves varies. */
static void put_root(uint8_t *to, unsigned leaves)
{
	uint8_t *cell = to + INTERIOR_HEAD;

	to[0] = PAGE_INTERIOR;
	feed_file_put_16(to + 1, 0);
	feed_file_put_16(to + 3, leaves - 1);
	feed_file_put_16(to + 5, INTERIOR_HEAD);
	to[7] = 0;
	put_32(to + 8, LEAF(leaves - 1));
	for (unsigned i = 0; i + 1 < leaves; i++) {
		feed_file_put_16(to + 12 + 2 * i, (unsigned)(cell - to));
		put_32(cell, LEAF(i));
		cell = put_varint(cell + 4, (i + 1) * FEED_FILE_LEAF_ROWS);
	}
}

static void put_leaf_head(uint8_t *to, unsigned rows, unsigned head_bytes)
{
	to[0] = PAGE_LEAF;
	feed_file_put_16(to + 1, 0);
	feed_file_put_16(to + 3, rows);
	feed_file_put_16(to + 5, head_bytes);
	to[7] = 0;
}

int feed_file_publish(struct feed_file *file, unsigned rows)
{
	unsigned leaves = (rows + FEED_FILE_LEAF_ROWS - 1) / FEED_FILE_LEAF_ROWS;

	if (file->borrowed)
		return -EBUSY;
	for (unsigned i = 0; i + 1 < leaves; i++)
		put_leaf_head(feed_file_leaf(file, i), FEED_FILE_LEAF_ROWS, FEED_FILE_LEAF_HEAD);
	put_leaf_head(feed_file_leaf(file, leaves - 1), rows - (leaves - 1) * FEED_FILE_LEAF_ROWS,
		FEED_FILE_LEAF_HEAD);
	/* An interior page must hold a key, so a single leaf is the root itself. */
	if (leaves == 1)
		memcpy(page(file, ROOT), feed_file_leaf(file, 0), FEED_FILE_PAGE_BYTES);
	else
		put_root(page(file, ROOT), leaves);
	return 0;
}

int feed_file_publish_shapes(struct feed_file *file, unsigned rows)
{
	if (file->borrowed)
		return -EBUSY;
	/* A table of one leaf has no page above it. */
	put_leaf_head(feed_file_shapes(file), rows, FEED_FILE_SHAPE_HEAD);
	return 0;
}

void feed_file_release(struct feed_file *file, unsigned kept)
{
	const uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = (uintptr_t)feed_file_leaf(file, kept) + page_bytes - 1;
	uintptr_t to = (uintptr_t)file->bytes + sizeof(file->bytes);

	/* The pages read as zeros from now on; if the kernel refuses, they keep their content. */
	(void)madvise((void *)(from - from % page_bytes),
		to - to % page_bytes - (from - from % page_bytes), MADV_DONTNEED);
}

/* ---- as a file ------------------------------------------------------------------------------- */

static int file_close(sqlite3_file *base)
{
	(void)base;
	return SQLITE_OK;
}

static int file_read(sqlite3_file *base, void *to, int bytes, sqlite3_int64 at)
{
	const struct handle *handle = (const struct handle *)base;

	if (at < 0 || bytes < 0 || at + bytes > FEED_FILE_PAGE_BYTES)
		return SQLITE_IOERR_READ; /* SQLite would cache the page */
	memcpy(to, handle->file->bytes + at, (size_t)bytes);
	return SQLITE_OK;
}

static int file_write(sqlite3_file *base, const void *from, int bytes, sqlite3_int64 at)
{
	(void)base;
	(void)from;
	(void)bytes;
	(void)at;
	return SQLITE_READONLY;
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 bytes)
{
	(void)base;
	(void)bytes;
	return SQLITE_READONLY;
}

static int file_sync(sqlite3_file *base, int flags)
{
	(void)base;
	(void)flags;
	return SQLITE_OK;
}

static int file_size(sqlite3_file *base, sqlite3_int64 *ret)
{
	(void)base;
	*ret = FEED_FILE_BYTES;
	return SQLITE_OK;
}

static int file_lock(sqlite3_file *base, int level)
{
	(void)base;
	(void)level;
	return SQLITE_OK;
}

static int file_check_lock(sqlite3_file *base, int *ret)
{
	(void)base;
	*ret = 0;
	return SQLITE_OK;
}

static int file_control(sqlite3_file *base, int operation, void *argument)
{
	(void)base;
	(void)operation;
	(void)argument;
	return SQLITE_NOTFOUND;
}

static int file_traits(sqlite3_file *base)
{
	(void)base;
	return 0;
}

static int file_fetch(sqlite3_file *base, sqlite3_int64 at, int bytes, void **ret)
{
	struct feed_file *file = ((struct handle *)base)->file;

	*ret = NULL;
	if (at < 0 || bytes < 0 || at + bytes > FEED_FILE_BYTES)
		return SQLITE_OK;
	*ret = file->bytes + at;
	file->borrowed++;
	return SQLITE_OK;
}

/* SQLite also calls this without a page, as a hint to drop pages that it fetched ahead. */
static int file_unfetch(sqlite3_file *base, sqlite3_int64 at, void *from)
{
	(void)at;
	if (from)
		((struct handle *)base)->file->borrowed--;
	return SQLITE_OK;
}

static const sqlite3_io_methods methods = {
	.iVersion = 3,
	.xClose = file_close,
	.xRead = file_read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = file_sync,
	.xFileSize = file_size,
	.xLock = file_lock,
	.xUnlock = file_lock,
	.xCheckReservedLock = file_check_lock,
	.xFileControl = file_control,
	.xSectorSize = file_traits,
	.xDeviceCharacteristics = file_traits,
	.xFetch = file_fetch,
	.xUnfetch = file_unfetch,
};

static int open_file(
	sqlite3_vfs *self, const char *path, sqlite3_file *base, int flags, int *ret_flags)
{
	(void)self;
	(void)path;
	base->pMethods = NULL;
	if (!attached || !(flags & SQLITE_OPEN_MAIN_DB))
		return SQLITE_CANTOPEN;
	*(struct handle *)base = (struct handle){.base = {&methods}, .file = attached};
	if (ret_flags)
		*ret_flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB;
	return SQLITE_OK;
}

/* Answers that no file exists: the feed has no journal. */
static int has_access(sqlite3_vfs *self, const char *path, int flags, int *ret)
{
	(void)self;
	(void)path;
	(void)flags;
	*ret = 0;
	return SQLITE_OK;
}

static int full_path(sqlite3_vfs *self, const char *path, int bytes, char *ret)
{
	(void)self;
	return snprintf(ret, (size_t)bytes, "%s", path) < bytes ? SQLITE_OK : SQLITE_CANTOPEN;
}

static void install(void)
{
	vfs = *sqlite3_vfs_find(NULL);
	vfs.zName = VFS_NAME;
	vfs.pNext = NULL;
	vfs.szOsFile = sizeof(struct handle);
	vfs.xOpen = open_file;
	vfs.xAccess = has_access;
	vfs.xFullPathname = full_path;
	(void)sqlite3_vfs_register(&vfs, 0); /* on failure no feed can be attached */
}

int feed_file_attach(struct feed_file *file, sqlite3 *db)
{
	int r;

	(void)pthread_once(&once, install);
	put_file_header(file->bytes);
	put_schema(file->bytes);
	attached = file;
	r = sqlite3_exec(db,
		"ATTACH 'file:rows?vfs=" VFS_NAME "' AS feed; PRAGMA feed.mmap_size=1048576", NULL,
		NULL, NULL);
	attached = NULL;
	return r;
}

/* SPDX-License-Identifier: MIT */
#include "collectord/db/wal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectord/db/database.h"
#include "collectord/db/watched_vfs.h"
#include "proto/base/cleanup.h"
#include "proto/base/format.h"

#define WAL_MAGIC	   0x377f0682u /* the last bit gives the byte order of the checksum */
#define WAL_FORMAT	   3007000u
#define FRAME_HEADER_BYTES 24u
#define PAGE_BYTES_MAX	   65536u
#define SALT_BYTES	   8u
#define INDEX_BYTES	   32768 /* the first piece of the index, as SQLite maps it */
/* Bytes of the -shm file of which each reader locks one (SQLite's walformat). */
#define SHM_READ_FIRST	   123u
#define SHM_READ_LAST	   127u

struct sum {
	bool is_big_endian;
	uint32_t a, b;
};

static uint32_t get_u32(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static uint32_t get_word(const uint8_t *at, bool is_big_endian)
{
	return is_big_endian ? get_u32(at)
			     : (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 |
				       (uint32_t)at[1] << 8 | at[0];
}

static void add(struct sum *sum, const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i += 8) {
		sum->a += get_word(bytes + i, sum->is_big_endian) + sum->b;
		sum->b += get_word(bytes + i + 4, sum->is_big_endian) + sum->a;
	}
}

static bool fits(const struct sum *sum, const uint8_t *at)
{
	return sum->a == get_u32(at) && sum->b == get_u32(at + 4);
}

bool wal_is_header(const uint8_t header[WAL_HEADER_BYTES])
{
	struct sum sum = {.is_big_endian = get_u32(header) & 1};
	uint32_t page_bytes = get_u32(header + 8);

	add(&sum, header, WAL_HEADER_BYTES - SALT_BYTES);
	return (get_u32(header) & ~1u) == WAL_MAGIC && get_u32(header + 4) == WAL_FORMAT &&
	       page_bytes >= 512 && page_bytes <= PAGE_BYTES_MAX &&
	       !(page_bytes & (page_bytes - 1)) && fits(&sum, header + 24);
}

/* SQLite's index of the WAL, in the memory of its -shm file (walformat); in native byte order. */
struct index_header {
	uint32_t version, unused, change;
	uint8_t is_init, is_big_endian;
	uint16_t page_bytes; /* 1 means 65536 */
	uint32_t frames;     /* up to the last commit that SQLite knows of */
	uint32_t pages;
	uint32_t sum[2]; /* of the last of @frames */
	uint8_t salt[SALT_BYTES];
	uint32_t own_sum[2];
};
static_assert(sizeof(struct index_header) == 48, "WalIndexHdr");

/* Where SQLite would go on writing. */
struct end {
	size_t page_bytes;
	uint64_t frames;
	struct sum sum;
	uint8_t salt[SALT_BYTES];
};

/* 1: *@ret is filled; 0: there is no index, or another connection is changing it. */
static int read_index(sqlite3 *db, struct end *ret)
{
	struct index_header header[2];
	volatile void *index = NULL;
	sqlite3_file *file = NULL;
	int r = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);

	if (r == SQLITE_OK)
		r = file->pMethods->xShmMap(file, 0, INDEX_BYTES, 0, &index);
	if (r != SQLITE_OK)
		return database_errno(r);
	if (!index)
		return 0;
	memcpy(header, (const void *)index, sizeof(header));
	if (memcmp(&header[0], &header[1], sizeof(header[0])) != 0 || !header[0].is_init)
		return 0;
	*ret = (struct end){
		.page_bytes = header[0].page_bytes == 1 ? PAGE_BYTES_MAX : header[0].page_bytes,
		.frames = header[0].frames,
		.sum = {header[0].is_big_endian, header[0].sum[0], header[0].sum[1]},
	};
	memcpy(ret->salt, header[0].salt, SALT_BYTES);
	return 1;
}

/* Without a frame the sum is that of the WAL's header. False: the WAL was restarted or never
 * begun. */
static bool begin_sum(int fd, struct end *end)
{
	uint8_t header[WAL_HEADER_BYTES];

	if (end->frames)
		return true;
	if (pread(fd, header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
		!wal_is_header(header) || memcmp(header + 16, end->salt, SALT_BYTES) != 0)
		return false;
	end->page_bytes =
		get_u32(header + 8); /* SQLite learns it from the first commit that it finds */
	end->sum = (struct sum){get_u32(header) & 1, get_u32(header + 24), get_u32(header + 28)};
	return true;
}

/* True if the frame belongs to this round of the WAL, not to an earlier one, whose frames lie
 * behind the end. */
static bool is_of_round(const uint8_t *frame, const struct end *end)
{
	return !memcmp(frame + 8, end->salt, SALT_BYTES);
}

/*
 * True if the frame ends a transaction. A rolled-back transaction leaves no such frame, nor does
 * one that overwrites its own spilled frames: SQLite gives those no salt until all sums before them
 * are right.
 */
static bool is_commit(const uint8_t *frame)
{
	return get_u32(frame + 4) != 0;
}

/* True if this is the next frame that SQLite would have accepted; adds it to the sum. */
static bool goes_on(struct end *end, const uint8_t *frame, size_t bytes)
{
	if (bytes != FRAME_HEADER_BYTES + end->page_bytes || !is_of_round(frame, end))
		return false;
	add(&end->sum, frame, 8);
	add(&end->sum, frame + FRAME_HEADER_BYTES, end->page_bytes);
	return get_u32(frame) && fits(&end->sum, frame + 16);
}

/* After the first frame that does not go on, only headers are read. 1: a lost commit follows. */
static int find_later_commit(int fd, struct end *end, uint8_t *frame)
{
	size_t frame_bytes = FRAME_HEADER_BYTES + end->page_bytes, wanted = frame_bytes;
	off_t at = WAL_HEADER_BYTES + (off_t)(end->frames * frame_bytes);
	ssize_t n;

	while ((n = pread(fd, frame, wanted, at)) >= (ssize_t)FRAME_HEADER_BYTES) {
		pace_beat();
		at += (off_t)frame_bytes;
		if (wanted == frame_bytes && !goes_on(end, frame, (size_t)n))
			wanted = FRAME_HEADER_BYTES;
		else if (wanted < frame_bytes && is_of_round(frame, end) && is_commit(frame))
			return 1;
	}
	return n < 0 ? -errno : 0;
}

/* True if the header is zeros: SQLite writes it first, so the disk has lost it. */
static bool has_lost_header(int fd)
{
	static const uint8_t zeros[WAL_HEADER_BYTES];
	uint8_t header[WAL_HEADER_BYTES + 1];

	return pread(fd, header, sizeof(header), 0) == (ssize_t)sizeof(header) &&
	       !memcmp(header, zeros, sizeof(zeros));
}

int wal_is_cut(sqlite3 *db)
{
	const char *path = sqlite3_filename_wal(sqlite3_db_filename(db, "main"));
	CLEANUP(close_p) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	CLEANUP(free_p) uint8_t *frame = NULL;
	struct end end = {0};
	int r;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	r = read_index(db, &end);
	if (r <= 0)
		return r;
	if (!begin_sum(fd, &end))
		return has_lost_header(fd);
	frame = malloc(FRAME_HEADER_BYTES + end.page_bytes);
	return frame ? find_later_commit(fd, &end, frame) : -ENOMEM;
}

/* In another mode there is no index, and SQLite would never release one that was mapped without its
 * knowledge. If a cut WAL keeps the mode from being read, the database has a WAL. */
static bool may_have_wal(sqlite3 *db)
{
	sqlite3_stmt *mode = NULL;
	const char *name = NULL;
	bool has;

	if (sqlite3_prepare_v2(db, "PRAGMA journal_mode", -1, &mode, NULL) == SQLITE_OK &&
		sqlite3_step(mode) == SQLITE_ROW)
		name = (const char *)sqlite3_column_text(mode, 0);
	has = !name || !strcmp(name, "wal");
	sqlite3_finalize(mode);
	return has;
}

int wal_check_whole(sqlite3 *db)
{
	sqlite3_file *log = NULL;
	sqlite3_int64 bytes, wanted;
	struct end end;

	if (!db || !may_have_wal(db) ||
		sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) != SQLITE_OK ||
		!log || !log->pMethods || read_index(db, &end) != 1 || !end.frames ||
		log->pMethods->xFileSize(log, &bytes) != SQLITE_OK)
		return 0;
	wanted = WAL_HEADER_BYTES +
		 (sqlite3_int64)(end.frames * (FRAME_HEADER_BYTES + end.page_bytes));
	return bytes < wanted ? -EUCLEAN : 0;
}

/* Returns the bytes up to the end if a frame of the same round lies behind it; else 0. */
static sqlite3_int64 end_of_more(sqlite3 *db, sqlite3_file *log)
{
	uint8_t header[WAL_HEADER_BYTES], frame[FRAME_HEADER_BYTES];
	struct end end;
	sqlite3_int64 at;

	if (read_index(db, &end) != 1 ||
		log->pMethods->xRead(log, header, sizeof(header), 0) != SQLITE_OK ||
		memcmp(header + 16, end.salt, SALT_BYTES) != 0)
		return 0;
	end.page_bytes = get_u32(header + 8);
	at = WAL_HEADER_BYTES + (sqlite3_int64)(end.frames * (FRAME_HEADER_BYTES + end.page_bytes));
	if (log->pMethods->xRead(log, frame, sizeof(frame), at) != SQLITE_OK ||
		!is_of_round(frame, &end))
		return 0;
	return at;
}

int wal_trim(sqlite3 *db)
{
	sqlite3_file *log = NULL;
	sqlite3_int64 bytes;
	int r;

	if (sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) != SQLITE_OK ||
		!log || !log->pMethods || !end_of_more(db, log))
		return 0;
	/* No other process writes meanwhile, not even a user with an SQLite shell. */
	r = database_exec(db, "BEGIN IMMEDIATE");
	if (r < 0)
		return r;
	bytes = end_of_more(db, log);
	if (bytes)
		r = database_errno(log->pMethods->xTruncate(log, bytes));
	(void)database_exec(db, "ROLLBACK"); /* nothing was changed */
	return r;
}

static int stat_beside(const char *database, const char *suffix, struct stat *ret)
{
	CLEANUP(free_p) char *path = format_new("%s%s", database, suffix);

	if (!path)
		return -ENOMEM;
	return stat(path, ret) < 0 ? -errno : 0;
}

uint64_t wal_bytes(const char *database)
{
	struct stat st;

	return stat_beside(database, "-wal", &st) == 0 ? (uint64_t)st.st_size : 0;
}

static int open_beside(const char *database, const char *suffix)
{
	CLEANUP(free_p) char *path = format_new("%s%s", database, suffix);

	if (!path)
		return -1;
	return open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

int wal_hold(const char *database)
{
	return open_beside(database, "-wal");
}

void wal_send(const char *database)
{
	CLEANUP(close_p) int fd = wal_hold(database);

	/* A later sync reports the error. */
	if (fd >= 0)
		(void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}

int wal_open_index(const char *database)
{
	return open_beside(database, "-shm");
}

/* Each snapshot is a lock on one byte, as SQLite's file format defines. */
unsigned wal_readers(int index, pid_t *ret_pid)
{
	unsigned count = 0;

	for (unsigned at = SHM_READ_FIRST; at <= SHM_READ_LAST; at++) {
		struct flock lock = {
			.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};

		if (fcntl(index, F_GETLK, &lock) < 0 || lock.l_type == F_UNLCK)
			continue;
		if (!count++)
			*ret_pid = lock.l_pid;
	}
	return count;
}

/* SPDX-License-Identifier: MIT */
#include "collectord/wal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/cleanup.h"

#define WAL_MAGIC	   0x377f0682u /* the last bit: in which order words are summed */
#define WAL_FORMAT	   3007000u
#define FRAME_HEADER_BYTES 24u
#define PAGE_BYTES_MAX	   65536u
#define SALT_BYTES	   8u
/* Bytes of the -shm file that a reader locks, one of them (SQLite's walformat). */
#define SHM_READ_FIRST	   123u
#define SHM_READ_LAST	   127u

static void fclose_p(FILE **file)
{
	if (*file)
		fclose(*file);
}

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

/* Of this round of the log, not of the one before, which lies behind the end. */
static bool is_of_round(const uint8_t *frame, const uint8_t *header)
{
	return !memcmp(frame + 8, header + 16, SALT_BYTES);
}

/* What a transaction that was rolled back leaves behind has none. */
static bool is_commit(const uint8_t *frame)
{
	return get_u32(frame + 4) != 0;
}

static int look(int fd, const uint8_t *header, uint8_t *frame)
{
	size_t page_bytes = get_u32(header + 8), bytes = FRAME_HEADER_BYTES + page_bytes;
	struct sum sum = {get_u32(header) & 1, get_u32(header + 24), get_u32(header + 28)};
	off_t at = WAL_HEADER_BYTES;
	unsigned broken = 0;
	ssize_t n;

	while ((n = pread(fd, frame, bytes, at)) == (ssize_t)bytes) {
		at += n;
		add(&sum, frame, 8);
		add(&sum, frame + FRAME_HEADER_BYTES, page_bytes);
		if (!broken && is_of_round(frame, header) && get_u32(frame) &&
			fits(&sum, frame + 16))
			continue;
		if (broken++ && is_of_round(frame, header) && is_commit(frame))
			return 1;
	}
	return n < 0 ? -errno : 0;
}

int wal_is_cut(const char *path)
{
	CLEANUP(close_p) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	CLEANUP(free_p) uint8_t *frame = malloc(FRAME_HEADER_BYTES + PAGE_BYTES_MAX);
	uint8_t header[WAL_HEADER_BYTES];

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!frame)
		return -ENOMEM;
	if (pread(fd, header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
		!wal_is_header(header))
		return 0;
	return look(fd, header, frame);
}

static int stat_beside(const char *database, const char *suffix, struct stat *ret)
{
	CLEANUP(free_p) char *path = NULL;

	if (asprintf(&path, "%s%s", database, suffix) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	return stat(path, ret) < 0 ? -errno : 0;
}

uint64_t wal_bytes(const char *database)
{
	struct stat st;

	return stat_beside(database, "-wal", &st) == 0 ? (uint64_t)st.st_size : 0;
}

/*
 * The locks of the -shm file may not be asked for with fcntl(): closing that descriptor would drop
 * those that SQLite holds for us. The device that stands there need not be stat()'s (btrfs,
 * overlayfs), but no other file has locks of just these bytes.
 */
unsigned wal_readers(const char *database, pid_t *ret_pid)
{
	CLEANUP(fclose_p) FILE *locks = fopen("/proc/locks", "re");
	unsigned long long inode, first, last;
	unsigned count = 0;
	char line[256], kind[16];
	struct stat st;
	int pid;

	if (!locks || stat_beside(database, "-shm", &st) < 0)
		return 0;
	while (fgets(line, sizeof(line), locks)) {
		if (sscanf(line, "%*d: %15s %*s %*s %d %*x:%*x:%llu %llu %llu", kind, &pid, &inode,
			    &first, &last) != 5 ||
			strcmp(kind, "POSIX") != 0 || inode != st.st_ino || pid == getpid() ||
			first < SHM_READ_FIRST || last > SHM_READ_LAST)
			continue;
		if (!count++)
			*ret_pid = pid;
	}
	return count;
}

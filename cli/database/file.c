// SPDX-License-Identifier: MIT
#include "cli/database/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/memory.h"
#include "proto/base/cleanup.h"

/* "SQLite format 3" including its NUL. */
static const char magic[16] = "SQLite format 3";

static int refuse(char error[QUERY_ERROR_BYTES], const char *path, int r, const char *why)
{
	snprintf(error, QUERY_ERROR_BYTES, "%s: %s", path, why);
	return r;
}

static int refuse_errno(char error[QUERY_ERROR_BYTES], const char *path)
{
	int saved = errno;

	if (saved == ENOENT || saved == ENOTDIR)
		return refuse(error, path, -ENOENT, "no such file or session; see rtl ls");
	return refuse(error, path, -saved, strerror(saved));
}

static uint32_t get_u32(const unsigned char *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/*
 * SQLite detects that a whole page is missing, but not a part of the last page. If the file has a
 * log, it may be shorter than its header says.
 */
static bool is_cut(const unsigned char *header, uint64_t bytes)
{
	uint64_t page_bytes = (uint64_t)header[16] << 8 | header[17];

	if (page_bytes == 1)
		page_bytes = 65536;
	/* The page count is valid if it was written with the last change. */
	return get_u32(header + 24) == get_u32(header + 92) &&
	       bytes < page_bytes * get_u32(header + 28);
}

static bool is_filled(const char *path, const char *ending)
{
	CLEANUP(free_p) char *name = NULL;
	struct stat st;

	if (asprintf(&name, "%s%s", path, ending) < 0) {
		name = NULL;
		return false;
	}
	return !stat(name, &st) && st.st_size > 0;
}

static int look_at_header(const char *path, bool has_wal, char error[QUERY_ERROR_BYTES])
{
	CLEANUP(close_p) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	unsigned char header[100];
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return refuse_errno(error, path);
	n = pread(fd, header, sizeof(header), 0);
	if (n < 0)
		return refuse_errno(error, path);
	if (!n)
		return refuse(error, path, -EINVAL, "empty: nothing was stored yet");
	if (memcmp(header, magic, (size_t)n < sizeof(magic) ? (size_t)n : sizeof(magic)) != 0)
		return refuse(error, path, -EINVAL, "not an rtl database");
	if (fstat(fd, &st))
		return refuse_errno(error, path);
	if ((size_t)n < sizeof(header) || (is_cut(header, (uint64_t)st.st_size) && !has_wal))
		return refuse(error, path, -EBADMSG, "truncated or damaged");
	return 0;
}

static bool is_parent_writable(const char *path)
{
	CLEANUP(free_p) char *dir = xstrdup(path);
	char *slash = strrchr(dir, '/');

	if (!slash)
		return !access(".", W_OK);
	slash[slash == dir] = '\0';
	return !access(dir, W_OK);
}

/* Must be called before we open the file ourselves. Also true if we may not read the lock. */
static bool is_in_use(const char *path)
{
	pid_t pid;

	return file_lock_find(path, FILE_LOCK_SHM, FILE_LOCK_SHM_BYTE, &pid) != 0;
}

int query_file_look(const char *path, struct query_file *ret, char error[QUERY_ERROR_BYTES])
{
	/* SQLite keeps other files beside the real file, not beside a link to it. */
	CLEANUP(free_p) char *resolved = realpath(path, NULL);
	const char *real = resolved ? resolved : path;
	struct stat st;
	int r;

	if (stat(path, &st))
		return refuse_errno(error, path);
	if (S_ISDIR(st.st_mode))
		return refuse(error, path, -EISDIR, "is a directory");
	if (!S_ISREG(st.st_mode))
		return refuse(error, path, -EINVAL, "not a regular file");
	ret->has_wal = is_filled(real, "-wal");
	ret->is_in_use = is_in_use(real);
	r = look_at_header(path, ret->has_wal, error);
	if (r)
		return r;
	ret->bytes = (uint64_t)st.st_size;
	ret->is_dir_writable = is_parent_writable(real);
	return 0;
}

char *query_file_uri(const char *path, bool is_immutable)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-";
	const char *prefix = path[0] == '/' ? "file://" : "file:./";
	char *uri = xmalloc(strlen(prefix) + strlen(path) * 3 + sizeof("?immutable=1"));
	char *to;

	to = stpcpy(uri, prefix);
	for (; *path; path++) {
		if (strchr(plain, *path))
			*to++ = *path;
		else
			to += sprintf(to, "%%%02x", (unsigned char)*path);
	}
	strcpy(to, is_immutable ? "?immutable=1" : "");
	return uri;
}

/* ---- locks of other processes ---------------------------------------------------------- */

int file_lock_find(const char *path, const char *suffix, off_t at, pid_t *ret_pid)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
	CLEANUP(free_p) char *name = NULL;
	CLEANUP(close_p) int fd = -1;

	if (asprintf(&name, "%s%s", path, suffix) < 0) {
		name = NULL;
		return -ENOMEM;
	}
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fcntl(fd, F_GETLK, &lock) < 0)
		return -errno;
	*ret_pid = lock.l_pid > 0 ? lock.l_pid : -1;
	return lock.l_type != F_UNLCK;
}

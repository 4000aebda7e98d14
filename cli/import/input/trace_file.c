// SPDX-License-Identifier: MIT
#include "cli/import/input/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "cli/output/unfinished.h"
#include "proto/base/cleanup.h"

#define READ_BYTES	   (256u << 10)
/* Of a few MiB gzip makes a disk full of zeros. Recordings of a day have some GiB. */
#define UNPACKED_BYTES_MAX (16ull << 30)

__attribute__((format(printf, 3, 4))) static int fail(
	struct trace_file *file, int error, const char *format, ...)
{
	va_list arguments;
	int n = snprintf(file->error, sizeof(file->error), "%.200s: ", file->name);

	va_start(arguments, format);
	vsnprintf(file->error + n, sizeof(file->error) - (size_t)n, format, arguments);
	va_end(arguments);
	return error;
}

int trace_file_refuse(struct trace_file *file, uint64_t at, const char *format, ...)
{
	va_list arguments;
	int n = snprintf(file->error, sizeof(file->error),
		"%.200s: at byte %" PRIu64 "%s: ", file->name, at,
		file->is_gzip ? " of its text" : "");

	va_start(arguments, format);
	vsnprintf(file->error + n, sizeof(file->error) - (size_t)n, format, arguments);
	va_end(arguments);
	return -EBADMSG;
}

/* Computes the checksum of the file itself, and finds out whether gzip wrote it. */
static int take_checksum(struct trace_file *file, int fd)
{
	CLEANUP(free_p) unsigned char *buffer = malloc(READ_BYTES);
	struct sha256 sha;
	ssize_t n;

	if (!buffer)
		return fail(file, -ENOMEM, "out of memory");
	sha256_init(&sha);
	while ((n = read(fd, buffer, READ_BYTES)) > 0) {
		if (!file->size)
			file->is_gzip = n > 1 && buffer[0] == 0x1f && buffer[1] == 0x8b;
		sha256_add(&sha, buffer, (size_t)n);
		file->size += (size_t)n;
	}
	if (n < 0)
		return fail(file, -EBADMSG, "cannot read: %m");
	sha256_end(&sha, file->sha256);
	return lseek(fd, 0, SEEK_SET) < 0 ? fail(file, -EBADMSG, "cannot read: %m") : 0;
}

int trace_file_rewind(struct trace_file *file)
{
	unsigned char mark[3];
	int n;

	file->at = 0;
	if (gzrewind(file->stream) < 0)
		return trace_file_refuse(file, 0, "the compressed file is damaged");
	/* U+FEFF as UTF-8, which JSON does not allow. */
	n = gzread(file->stream, mark, sizeof(mark));
	if (n == 3 && mark[0] == 0xef && mark[1] == 0xbb && mark[2] == 0xbf) {
		file->at = sizeof(mark);
		return 0;
	}
	if (n < 0 || gzrewind(file->stream) < 0)
		return trace_file_refuse(file, 0, "the compressed file is damaged");
	return 0;
}

int trace_file_open(const char *name, struct trace_file *ret)
{
	CLEANUP(close_p) int fd = -1;
	struct stat st;
	int r;

	*ret = (struct trace_file){.name = name};
	/* open() would block on a FIFO. */
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0)
		return fail(ret, -errno, "cannot open: %m");
	if (S_ISDIR(st.st_mode))
		return fail(ret, -EISDIR, "is a directory; name the files in it");
	if (!S_ISREG(st.st_mode))
		return fail(ret, -EINVAL, "is not a regular file");
	r = take_checksum(ret, fd);
	if (r < 0)
		return r;
	ret->stream = gzdopen(fd, "rb");
	if (!ret->stream)
		return fail(ret, -ENOMEM, "out of memory");
	TAKE_FD(fd); /* the stream owns it */
	(void)gzbuffer(ret->stream, READ_BYTES);
	return trace_file_rewind(ret);
}

void trace_file_done(struct trace_file *file)
{
	/* What SQLite keeps beside a database, even of one that it only reads. */
	static const char *const beside[] = {"", "-wal", "-shm", "-journal"};
	char path[PATH_MAX];

	if (file->stream)
		(void)gzclose_r(file->stream);
	file->stream = NULL;
	if (!file->unpacked)
		return;
	for (size_t i = 0; i < sizeof(beside) / sizeof(*beside); i++) {
		snprintf(path, sizeof(path), "%s%s", file->unpacked, beside[i]);
		(void)unlink(path);
	}
	unfinished_end(file->unpacked);
	free(file->unpacked);
	file->unpacked = NULL;
}

ssize_t trace_file_read(struct trace_file *file, void *buffer, size_t bytes)
{
	int n = gzread(file->stream, buffer, (unsigned)bytes), error = Z_OK;

	(void)gzerror(file->stream, &error);
	if (n < 0 || (error != Z_OK && error != Z_STREAM_END)) {
		if (error == Z_ERRNO)
			return fail(file, -EBADMSG, "cannot read: %m");
		return trace_file_refuse(file, file->at + (n > 0 ? (unsigned)n : 0),
			error == Z_BUF_ERROR ? "the compressed file is cut short"
					     : "the compressed file is damaged");
	}
	file->at += (unsigned)n;
	return n;
}

static int write_text(struct trace_file *file, int to)
{
	CLEANUP(free_p) unsigned char *buffer = malloc(READ_BYTES);
	ssize_t n;

	if (!buffer)
		return fail(file, -ENOMEM, "out of memory");
	while ((n = trace_file_read(file, buffer, READ_BYTES)) > 0) {
		if (file->at > UNPACKED_BYTES_MAX)
			return fail(file, -EFBIG,
				"has more than %llu GiB unpacked; unpack it first",
				UNPACKED_BYTES_MAX >> 30);
		for (ssize_t done = 0, w; done < n; done += w) {
			w = write(to, buffer + done, (size_t)(n - done));
			if (w < 0)
				return fail(file, -errno, "cannot unpack: %m");
		}
	}
	return n < 0 ? (int)n : 0;
}

int trace_file_unpack(struct trace_file *file, const char *path)
{
	CLEANUP(close_p) int to = -1;

	file->unpacked = strdup(path);
	if (!file->unpacked)
		return fail(file, -ENOMEM, "out of memory");
	unfinished_add_database(path);
	to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (to < 0)
		return fail(file, -errno, "cannot unpack: %m");
	return write_text(file, to);
}

uint64_t trace_file_place(const struct trace_file *file)
{
	z_off_t place = gzoffset(file->stream);

	return place > 0 ? (uint64_t)place : 0;
}

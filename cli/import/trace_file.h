/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A file of another tool, as the text in it: decompressed where it is of gzip, and without a mark
 * of its byte order. Its size and checksum are those of the file. One thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/import/sha256.h"

#define TRACE_FILE_ERROR_BYTES 512
#define TRACE_FILE_HEAD_BYTES  16

struct trace_file {
	const char *name; /* borrowed */
	uint64_t size;
	char sha256[SHA256_HEX_BYTES];
	bool is_gzip;
	uint64_t at;			    /* bytes of its text that were given */
	char error[TRACE_FILE_ERROR_BYTES]; /* "NAME: why", of the last thing that failed */
	void *stream;			    /* gzFile */
};

/* -ENOENT, -EISDIR, -EINVAL (no regular file), -EIO, -ENOMEM, each with its line in @ret->error. */
int trace_file_open(const char *name, struct trace_file *ret);
void trace_file_done(struct trace_file *file);
/* From the first byte again. */
int trace_file_rewind(struct trace_file *file);
/* Up to @bytes of its text; 0: no more. -EBADMSG: cut, or no gzip behind its head; -EIO. */
ssize_t trace_file_read(struct trace_file *file, void *buffer, size_t bytes);
/* Bytes that were read of the file as it is, of @size. */
uint64_t trace_file_place(const struct trace_file *file);
/* Fills @file->error: "NAME: at byte N: why". -EBADMSG. */
__attribute__((format(printf, 3, 4))) int trace_file_refuse(
	struct trace_file *file, uint64_t at, const char *format, ...);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A file of another tool as the text in it: decompressed if gzip wrote it, and without a byte order
 * mark. Size and checksum are those of the file itself. Everything runs on one thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/import/input/sha256.h"

#define TRACE_FILE_ERROR_BYTES 512
#define TRACE_FILE_HEAD_BYTES  16

struct trace_file {
	const char *name; /* borrowed */
	uint64_t size;
	char sha256[SHA256_HEX_BYTES];
	bool is_gzip;
	uint64_t at;			    /* bytes of the text that were read */
	char error[TRACE_FILE_ERROR_BYTES]; /* "NAME: why" of the last failure */
	void *stream;			    /* a gzFile */
	char *unpacked;			    /* trace_file_unpack() wrote its text there; or NULL */
	uint64_t rows, steps; /* of a database: what it has cost so far (foreign_db.h) */
};

/* Returns 0, the -errno of open(), -EISDIR, -EINVAL (not a regular file), -EBADMSG (it cannot be
 * read) or -ENOMEM, each with the reason in @ret->error. */
int trace_file_open(const char *name, struct trace_file *ret);
void trace_file_done(struct trace_file *file);
/* Starts over at the first byte. */
int trace_file_rewind(struct trace_file *file);
/* Reads up to @bytes of the text. Returns 0 at the end, or -EBADMSG with the reason in @file->error
 * if the file cannot be read, is cut or is damaged. */
ssize_t trace_file_read(struct trace_file *file, void *buffer, size_t bytes);
/* Writes the text to the new file @path, which trace_file_done() removes: SQLite reads no
 * compressed file. Returns 0, or -EBADMSG, -EFBIG, -ENOMEM or another -errno with the reason in
 * @file->error. */
int trace_file_unpack(struct trace_file *file, const char *path);
/* Returns how many bytes of the file itself, of @size, have been read. */
uint64_t trace_file_place(const struct trace_file *file);
/* Sets @file->error to "NAME: at byte N: why". Returns -EBADMSG. */
__attribute__((format(printf, 3, 4))) int trace_file_refuse(
	struct trace_file *file, uint64_t at, const char *format, ...);

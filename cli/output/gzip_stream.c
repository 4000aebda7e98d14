// SPDX-License-Identifier: MIT
#include "cli/output/gzip_stream.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

#include "proto/base/cleanup.h"

#define STREAM_BYTES ((size_t)1 << 16)
/* zlib's encoding of a 32 KiB window with a gzip header. */
#define WINDOW_BITS  (15 + 16)
#define LEVEL	     1
#define MEMORY_LEVEL 8

struct gzip_stream {
	z_stream z;
	FILE *to;
	unsigned char out[STREAM_BYTES];
};

/* Returns 0, or -1 if @stream->to cannot be written. */
static int deflate_all(struct gzip_stream *stream, int flush)
{
	int code;

	do {
		size_t length;

		stream->z.next_out = stream->out;
		stream->z.avail_out = STREAM_BYTES;
		code = deflate(&stream->z, flush);
		length = STREAM_BYTES - stream->z.avail_out;
		if (code == Z_STREAM_ERROR || fwrite(stream->out, 1, length, stream->to) != length)
			return -1;
	} while (!stream->z.avail_out || (flush == Z_FINISH && code != Z_STREAM_END));
	return 0;
}

static ssize_t write_some(void *cookie, const char *text, size_t length)
{
	struct gzip_stream *stream = cookie;
	size_t taken = length < INT_MAX ? length : INT_MAX;

	stream->z.next_in = (unsigned char *)(uintptr_t)text; /* zlib only reads it */
	stream->z.avail_in = (unsigned)taken;
	return deflate_all(stream, Z_NO_FLUSH) ? 0 : (ssize_t)taken;
}

static int end(void *cookie)
{
	struct gzip_stream *stream = cookie;
	int r;

	stream->z.avail_in = 0;
	r = deflate_all(stream, Z_FINISH);
	deflateEnd(&stream->z);
	free(stream);
	return r;
}

FILE *gzip_stream_open(FILE *to)
{
	CLEANUP(free_p) struct gzip_stream *stream = calloc(1, sizeof(*stream));
	FILE *ret;

	if (!stream)
		return NULL;
	stream->to = to;
	if (deflateInit2(&stream->z, LEVEL, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL,
		    Z_DEFAULT_STRATEGY) != Z_OK)
		return NULL;
	ret = fopencookie(stream, "w", (cookie_io_functions_t){.write = write_some, .close = end});
	if (!ret) {
		deflateEnd(&stream->z);
		return NULL;
	}
	(void)setvbuf(ret, NULL, _IOFBF, STREAM_BYTES);
	stream = NULL; /* the returned stream owns it */
	return ret;
}

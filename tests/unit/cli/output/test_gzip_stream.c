// SPDX-License-Identifier: MIT
/* Streams that compress: what comes out is what went in. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "cli/output/gzip_stream.h"
#include "tests/lib/test.h"

#define BYTES 3000000u

/* Halfway between noise and nothing, as a trace is. */
static unsigned char byte_at(uint32_t at)
{
	return (unsigned char)(at % 7 ? at >> 8 : at * 2654435761u >> 24);
}

static void check_length(uint32_t length)
{
	FILE *to = tmpfile(), *stream = gzip_stream_open(to);
	unsigned char *read = malloc(length + 1);
	gzFile file;

	assert_non_null(stream);
	for (uint32_t i = 0; i < length; i++)
		putc(byte_at(i), stream);
	assert_int_equal(fclose(stream), 0);
	assert_int_equal(fflush(to), 0);
	rewind(to);
	file = gzdopen(dup(fileno(to)), "r");
	assert_int_equal(gzread(file, read, length + 1), length);
	assert_int_equal(gzclose(file), Z_OK);
	for (uint32_t i = 0; i < length; i++)
		assert_int_equal(read[i], byte_at(i));
	free(read);
	fclose(to);
}

TEST_CASE(text_of_any_length_comes_back)
{
	check_length(0);
	check_length(1);
	check_length(65536);
	check_length(BYTES);
}

TEST_CASE(full_disk_is_an_error_of_the_end)
{
	FILE *to = fopen("/dev/full", "w"), *stream = gzip_stream_open(to);
	int r = 0;

	for (uint32_t i = 0; i < BYTES; i++)
		putc(byte_at(i), stream);
	r = ferror(stream);
	assert_true(fclose(stream) || r || fflush(to));
	fclose(to);
}

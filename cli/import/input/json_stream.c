// SPDX-License-Identifier: MIT
#include "cli/import/input/json_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#include "cli/base/progress.h"
#include "proto/base/cleanup.h"

#define CHUNK_BYTES (64u << 10)

int json_refuse(struct json_stream *stream, const char *why)
{
	stream->why = why;
	return -EBADMSG;
}

static int stop(struct json_stream *stream, int r)
{
	stream->stopped = r;
	stream->calls++;
	return r == 0;
}

static int give(struct json_stream *stream, enum json_kind kind, const char *text, size_t length)
{
	if (length > JSON_VALUE_BYTES_MAX)
		return stop(stream, json_refuse(stream, "a text is longer than 1 MiB"));
	return stop(stream, stream->reader->value(stream->context, kind, text, length));
}

static int on_null(void *data)
{
	return give(data, JSON_NULL, "", 0);
}

static int on_boolean(void *data, int is_true)
{
	return give(data, is_true ? JSON_TRUE : JSON_FALSE, "", 0);
}

static int on_number(void *data, const char *text, size_t length)
{
	return give(data, JSON_NUMBER, text, length);
}

static int on_string(void *data, const unsigned char *text, size_t length)
{
	return give(data, JSON_STRING, (const char *)text, length);
}

static int on_key(void *data, const unsigned char *text, size_t length)
{
	struct json_stream *stream = data;
	struct json_key *key = stream->key + stream->depth - 1;

	if (length > JSON_VALUE_BYTES_MAX)
		return stop(stream, json_refuse(stream, "a key is longer than 1 MiB"));
	if (length > JSON_KEY_BYTES - 1)
		length = JSON_KEY_BYTES - 1;
	memcpy(key->text, text, length);
	key->text[length] = 0;
	key->length = (uint8_t)length;
	stream->calls++;
	return 1;
}

static int begin(struct json_stream *stream, bool is_array)
{
	struct json_key *key;

	if (stream->depth == JSON_DEPTH_MAX)
		return stop(stream, json_refuse(stream, "is nested more than 64 deep"));
	key = stream->key + stream->depth++;
	key->text[0] = 0;
	key->length = 0;
	key->is_array = is_array;
	return stop(stream, stream->reader->begin(stream->context, is_array));
}

static int end(struct json_stream *stream, bool is_array)
{
	stream->depth--;
	return stop(stream, stream->reader->end(stream->context, is_array));
}

static int on_map(void *data)
{
	return begin(data, false);
}

static int on_map_end(void *data)
{
	return end(data, false);
}

static int on_array(void *data)
{
	return begin(data, true);
}

static int on_array_end(void *data)
{
	return end(data, true);
}

static const yajl_callbacks callbacks = {
	.yajl_null = on_null,
	.yajl_boolean = on_boolean,
	.yajl_number = on_number,
	.yajl_string = on_string,
	.yajl_start_map = on_map,
	.yajl_map_key = on_key,
	.yajl_end_map = on_map_end,
	.yajl_start_array = on_array,
	.yajl_end_array = on_array_end,
};

static void parser_free_p(yajl_handle *parser)
{
	if (*parser)
		yajl_free(*parser);
}

/* yajl's messages look like "lexical error: invalid char in json text.\n". */
static int refuse_text(struct json_stream *stream, yajl_handle parser, uint64_t at)
{
	unsigned char *why = yajl_get_error(parser, 0, NULL, 0);
	int r;

	if (!why)
		return -ENOMEM;
	why[strcspn((char *)why, ".\n")] = 0;
	r = trace_file_refuse(stream->file, at, "is no JSON: %s", (char *)why);
	yajl_free_error(parser, why);
	return r;
}

/* @at is the place in the text where the chunk begins. */
static int judge(struct json_stream *stream, yajl_handle parser, yajl_status status, uint64_t at)
{
	at += yajl_get_bytes_consumed(parser);
	if (at > stream->file->at)
		at = stream->file->at;
	if (status == yajl_status_ok)
		return 0;
	if (status == yajl_status_error)
		return refuse_text(stream, parser, at);
	if (stream->why)
		return trace_file_refuse(stream->file, at, "%s", stream->why);
	return stream->stopped ? stream->stopped : -ENOMEM;
}

static int feed(struct json_stream *stream, yajl_handle parser, unsigned char *chunk)
{
	uint64_t calls = stream->calls, silent = 0;
	ssize_t n;
	int r = 0;

	while (!r && (n = trace_file_read(stream->file, chunk, CHUNK_BYTES)) != 0) {
		uint64_t at = stream->file->at - (n > 0 ? (uint64_t)n : 0);

		if (n < 0)
			return (int)n;
		progress_set(trace_file_place(stream->file), stream->file->size);
		r = judge(stream, parser, yajl_parse(parser, chunk, (size_t)n), at);
		silent = calls == stream->calls ? silent + (uint64_t)n : 0;
		calls = stream->calls;
		if (!r && silent > JSON_VALUE_BYTES_MAX)
			r = trace_file_refuse(stream->file, at, "a value is longer than 1 MiB");
	}
	return r ? r : judge(stream, parser, yajl_complete_parse(parser), stream->file->at);
}

int json_read(struct json_stream *stream, struct trace_file *file, const struct json_reader *reader,
	void *context, bool is_lines)
{
	CLEANUP(parser_free_p) yajl_handle parser = yajl_alloc(&callbacks, NULL, stream);
	CLEANUP(free_p) unsigned char *chunk = malloc(CHUNK_BYTES);
	int r;

	if (!parser || !chunk)
		return -ENOMEM;
	memset(stream, 0, sizeof(*stream));
	stream->file = file;
	stream->reader = reader;
	stream->context = context;
	yajl_config(parser, yajl_dont_validate_strings, 1);
	if (is_lines)
		yajl_config(parser, yajl_allow_multiple_values, 1);
	progress_begin("import");
	r = feed(stream, parser, chunk);
	progress_end();
	return r;
}

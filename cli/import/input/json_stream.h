/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Reads JSON of any size as a stream of its values, each with the keys that lead to it. It holds
 * one value, and one key per level. Bytes that are not UTF-8 are passed on unchanged. Everything
 * runs on one thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/import/input/trace_file.h"

/* Limit of the nesting: no trace is deeper, and the file must not choose the size of the stack. */
#define JSON_DEPTH_MAX	     64u
/* Limit of a value. The longest name in a real trace has 5,160 bytes; a list of a model's source
 * text has 400,000. */
#define JSON_VALUE_BYTES_MAX (1u << 20)
/* Size of a key. Readers ask for no longer one; a longer key is cut. */
#define JSON_KEY_BYTES	     48u

enum json_kind { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING };

struct json_key {
	char text[JSON_KEY_BYTES]; /* NUL-terminated; empty in an array */
	uint8_t length;
	bool is_array; /* the container is an array and has no keys */
};

struct json_stream {
	struct trace_file *file; /* borrowed */
	/* number of containers around the value; its key is key[depth - 1] */
	unsigned depth;
	struct json_key key[JSON_DEPTH_MAX + 1];
	const struct json_reader *reader;
	void *context;
	int stopped;	 /* what a function of the reader returned */
	const char *why; /* why json_refuse() stopped the reading */
	uint64_t calls;	 /* calls of the reader; shows that a value does not end */
};

/* Each returns 0, or -errno to end the reading: -EBADMSG after json_refuse(). */
struct json_reader {
	int (*value)(void *context, enum json_kind kind, const char *text, size_t length);
	/* @depth already counts the new container. */
	int (*begin)(void *context, bool is_array);
	/* @depth no longer counts the container. */
	int (*end)(void *context, bool is_array);
};

/*
 * Passes all of @file to @reader. @is_lines: the file has one document per line (jsonl). Returns
 * what the reader returned, -EBADMSG with the reason in @file->error, or -ENOMEM.
 */
int json_read(struct json_stream *stream, struct trace_file *file, const struct json_reader *reader,
	void *context, bool is_lines);

/* Called by a reader to end the reading at the current value. @why must be a constant text. Returns
 * -EBADMSG. */
int json_refuse(struct json_stream *stream, const char *why);

static inline bool json_is(const struct json_key *key, const char *text, size_t length)
{
	return key->length == length && !__builtin_memcmp(key->text, text, length);
}
/* True if the key at container depth @level equals @literal. */
#define JSON_IS(stream, level, literal)                                                            \
	json_is(&(stream)->key[(level)-1], literal, sizeof(literal) - 1)

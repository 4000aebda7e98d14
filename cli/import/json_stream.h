/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * JSON of any size as a stream of its values, each with the keys that lead to it. What is held is
 * one value and one key a level. Bytes that are no UTF-8 are passed on as they are. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/import/trace_file.h"

/* Deeper is no trace, and would be a stack that the file chooses. */
#define JSON_DEPTH_MAX	     64u
/* The longest name in a real trace has 5,160 bytes; a list of a model's source text has 400,000. */
#define JSON_VALUE_BYTES_MAX (1u << 20)
/* No key that a reader asks for is longer; of a longer one this many bytes and a mark. */
#define JSON_KEY_BYTES	     48u

enum json_kind { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING };

struct json_key {
	char text[JSON_KEY_BYTES]; /* with a NUL; empty in an array */
	uint8_t length;
	bool is_array; /* the container is one, and has no keys */
};

struct json_stream {
	struct trace_file *file; /* borrowed */
	unsigned depth;		 /* containers around the value; its key is key[depth - 1] */
	struct json_key key[JSON_DEPTH_MAX + 1];
	const struct json_reader *reader;
	void *context;
	int stopped;	 /* what a function of the reader returned */
	const char *why; /* of a stop of our own */
	uint64_t calls;	 /* of the reader, so that a value without end is noticed */
};

/* Each returns 0, or -errno, which ends the reading: -EBADMSG after json_refuse(). */
struct json_reader {
	int (*value)(void *context, enum json_kind kind, const char *text, size_t length);
	/* @depth of what is in it. */
	int (*begin)(void *context, bool is_array);
	/* @depth of what is around it. */
	int (*end)(void *context, bool is_array);
};

/*
 * Gives all of @file to @reader. @is_lines: one document a line, as of jsonl. What the reader
 * returned; -EBADMSG, -EIO with its line in @file->error; -ENOMEM.
 */
int json_read(struct json_stream *stream, struct trace_file *file, const struct json_reader *reader,
	void *context, bool is_lines);

/* For a reader: why the value at hand ends the reading; a text that lives on. -EBADMSG. */
int json_refuse(struct json_stream *stream, const char *why);

static inline bool json_is(const struct json_key *key, const char *text, size_t length)
{
	return key->length == length && !__builtin_memcmp(key->text, text, length);
}
/* Is the key of @level containers deep @text, a literal? */
#define JSON_IS(stream, level, literal)                                                            \
	json_is(&(stream)->key[(level)-1], literal, sizeof(literal) - 1)

/* SPDX-License-Identifier: MIT */
#include "shim/record/strings.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "proto/base/cleanup.h"
#include "proto/base/limits.h"
#include "proto/wire/msg.h"

#define TABLE_FIRST 256u

/* A text is identified by a hash of 128 bits; the text itself is only in the define log. */
struct string_entry {
	XXH128_hash_t hash;
	uint32_t id; /* 0 if free */
};

void strings_init(struct strings *strings, struct recorder *recorder)
{
	memset(strings, 0, sizeof(*strings));
	pthread_mutex_init(&strings->lock, NULL);
	strings->recorder = recorder;
}

void strings_done(struct strings *strings)
{
	pthread_mutex_destroy(&strings->lock);
	free(strings->table);
	strings->table = NULL;
	strings->capacity = 0;
}

static struct string_entry *entry_find(
	struct string_entry *table, size_t capacity, XXH128_hash_t hash)
{
	size_t at = hash.low64 & (capacity - 1);

	while (table[at].id && !XXH128_isEqual(table[at].hash, hash))
		at = (at + 1) & (capacity - 1);
	return &table[at];
}

/* Keeps the table at most half full. -ENOMEM. */
static int table_grow(struct strings *strings)
{
	size_t capacity = strings->capacity ? strings->capacity * 2 : TABLE_FIRST;
	struct string_entry *table;

	if (strings->count * 2 < strings->capacity)
		return 0;
	table = calloc(capacity, sizeof(*table));
	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < strings->capacity; i++)
		if (strings->table[i].id)
			*entry_find(table, capacity, strings->table[i].hash) = strings->table[i];
	free(strings->table);
	strings->table = table;
	strings->capacity = capacity;
	return 0;
}

static int string_define(
	struct strings *strings, uint32_t id, const char *text, size_t bytes, unsigned how)
{
	Rtl__StringDef definition = RTL__STRING_DEF__INIT;
	Rtl__StringDef *list[] = {&definition};
	Rtl__Defines defines = RTL__DEFINES__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;
	CLEANUP(free_p) uint8_t *packed = NULL;
	size_t packed_bytes;

	definition.has_id = 1;
	definition.id = id;
	definition.has_text = 1;
	definition.text.data = (uint8_t *)(uintptr_t)text;
	definition.text.len = bytes;
	defines.strings = list;
	defines.n_strings = 1;
	frame.body_case = RTL__FRAME__BODY_DEFINES;
	frame.defines = &defines;
	packed = msg_pack_new(&frame, &packed_bytes);
	if (!packed)
		return -ENOMEM;
	return recorder_define(strings->recorder, packed, packed_bytes, how);
}

static uint32_t overflow_take(struct strings *strings)
{
	static const char text[] = "<name-overflow>";

	recorder_count(strings->recorder, RTL_P_names_overflowed, 1);
	if (!strings->overflow_id && !string_define(strings, strings->last_id + 1, text,
					     sizeof(text) - 1, RECORDER_DEFINE_LAST))
		strings->overflow_id = ++strings->last_id;
	return strings->overflow_id;
}

/* Returns 0 if there is no room. */
static uint32_t intern_locked(struct strings *strings, const char *text, size_t bytes)
{
	XXH128_hash_t hash = XXH3_128bits(text, bytes);
	struct string_entry *entry;

	if (table_grow(strings))
		return 0;
	entry = entry_find(strings->table, strings->capacity, hash);
	if (entry->id)
		return entry->id;
	/* Keeps one id for the overflow's own definition. */
	if (strings->last_id + 1 >= PROCESS_STRINGS_MAX ||
		string_define(strings, strings->last_id + 1, text, bytes, RECORDER_DEFINE_WAIT))
		return 0;
	entry->hash = hash;
	entry->id = ++strings->last_id;
	strings->count++;
	return entry->id;
}

static uint32_t intern(
	struct strings *strings, const char *text, size_t bytes, bool is_overflow_wanted)
{
	uint32_t id;

	if (bytes > SYMBOL_BYTES_MAX)
		bytes = SYMBOL_BYTES_MAX;
	pthread_mutex_lock(&strings->lock);
	id = intern_locked(strings, text, bytes);
	if (!id && is_overflow_wanted)
		id = overflow_take(strings);
	pthread_mutex_unlock(&strings->lock);
	return id;
}

uint32_t strings_intern(struct strings *strings, const char *text, size_t bytes)
{
	return intern(strings, text, bytes, true);
}

uint32_t strings_intern_if_room(struct strings *strings, const char *text, size_t bytes)
{
	return intern(strings, text, bytes, false);
}

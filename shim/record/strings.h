/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Texts of this process (kernel symbols, marker texts), each once: text -> string id, defined
 * in the recorder's define log before the id is given out. Loader hooks on application threads
 * and the shim thread; one mutex, nothing here is on the dispatch path.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/record/recorder.h"

struct strings {
	pthread_mutex_t lock; /* guards all below; nests in nothing, takes the define log's */
	struct recorder *recorder;
	struct string_entry *table;
	size_t capacity; /* of table, a power of two; 0: none yet */
	size_t count;
	uint32_t last_id;
	uint32_t overflow_id; /* "<name-overflow>"; 0: not needed yet */
};

void strings_init(struct strings *strings, struct recorder *recorder);
void strings_done(struct strings *strings);

/*
 * Id of the @bytes at @text, cut at SYMBOL_BYTES_MAX. Past the define log or
 * PROCESS_STRINGS_MAX it is that of "<name-overflow>", counted names_overflowed. 0: not even
 * that could be defined.
 */
uint32_t strings_intern(struct strings *strings, const char *text, size_t bytes);

/* Likewise, for who can do without: 0 where there is no room for it, and nothing is counted. */
uint32_t strings_intern_if_room(struct strings *strings, const char *text, size_t bytes);

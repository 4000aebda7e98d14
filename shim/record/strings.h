/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The texts of this process (kernel symbols, marker texts), each stored once: text -> string id. An
 * id is defined in the recorder's define log before it is returned. Called by loader hooks on
 * application threads and by the shim thread; one mutex, never on the dispatch path.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/record/recorder.h"

struct strings {
	pthread_mutex_t lock; /* protects all below; taken under no lock, takes the define log's */
	struct recorder *recorder;
	struct string_entry *table;
	size_t capacity; /* of table, a power of two; 0 if not allocated yet */
	size_t count;
	uint32_t last_id;
	uint32_t overflow_id; /* "<name-overflow>"; 0 if not needed yet */
};

void strings_init(struct strings *strings, struct recorder *recorder);
void strings_done(struct strings *strings);

/*
 * Id of the @bytes at @text, truncated to SYMBOL_BYTES_MAX. If the define log or
 * PROCESS_STRINGS_MAX is full, returns the id of "<name-overflow>" and counts names_overflowed. 0
 * if not even that could be defined.
 */
uint32_t strings_intern(struct strings *strings, const char *text, size_t bytes);

/* The same for optional texts: returns 0 if there is no room, and counts nothing. */
uint32_t strings_intern_if_room(struct strings *strings, const char *text, size_t bytes);

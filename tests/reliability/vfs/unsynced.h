/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What was written to a file and not yet synced, so that a power cut can take any of it away: by
 * file name, since a file may be open several times. Costs memory only while it is watched. Any
 * thread; the file itself is read and written by descriptors of its own.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unsynced;

struct unsynced *unsynced_open(const char *path);
void unsynced_close(struct unsynced *file);

/* The most that were open at a time of one database (logs are not counted). */
unsigned unsynced_users_max(void);

/* False forgets everything. */
void unsynced_watch(bool is_watched);

/* Each before the operation itself. */
void unsynced_write(struct unsynced *file, const void *data, size_t bytes, int64_t at);
void unsynced_truncate(struct unsynced *file, int64_t bytes);
/* After it. */
void unsynced_sync(struct unsynced *file);

/*
 * The power goes: each unsynced write of each file is kept, lost, or torn at a sector, as @seed
 * has it; what was synced stays, what shared memory held is gone.
 */
void unsynced_lose(uint64_t seed);

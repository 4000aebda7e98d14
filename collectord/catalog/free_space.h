/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Free space on the file system of the databases: how much must stay free, and a reserve that is
 * given up when the disk is full, so that the end of a session can still be stored. Store thread.
 *
 * The reserve is a file without a name: it cannot be mistaken for data, and a killed collector
 * leaves nothing behind. It is allocated again before new records are accepted: only then the disk
 * counts as no longer full.
 */
#include <stdbool.h>
#include <stdint.h>

struct room;

/*
 * Opens an empty file without a name in @folder, for a reserve that several processes share.
 * Returns -1 with errno set on failure.
 */
int room_open_reserve(const char *folder);

/*
 * @folder selects the file system. @reserve comes from room_open_reserve() and stays the caller's;
 * -1: makes one of its own. A reserve that does not fit counts as spent from the start; a file
 * system without preallocation has none. -ENOMEM, or the error of opening @folder.
 */
int room_open(const char *folder, int reserve, uint64_t reserve_bytes, uint64_t keep_free_bytes,
	struct room **ret);
struct room *room_close(struct room *room);

/* Replaces how much must stay free. */
void room_keep_free(struct room *room, uint64_t bytes);

/* Called when the disk is full: frees the reserve. Returns true if that made room. */
bool room_spend(struct room *room);

/* Free bytes, less what must stay free; INT64_MAX if they cannot be determined. */
int64_t room_left(const struct room *room);

/* True if records may be stored. Checks the disk at most ten times a second. */
bool room_is_there(struct room *room);

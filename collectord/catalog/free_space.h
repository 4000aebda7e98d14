/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Room on the file system of the databases: what must stay free there, and a reserve that is
 * given up when it is full, so that what a session ends with still fits. Store thread.
 *
 * The reserve is a file without a name: nobody can mistake it for data, and a killed collector
 * leaves nothing behind. It is taken back before records are taken again: that is how a disk
 * counts as no longer full.
 */
#include <stdbool.h>
#include <stdint.h>

struct room;

/* A file without a name in @folder, empty: the reserve of several processes. -1: errno. */
int room_open_reserve(const char *folder);

/*
 * @folder: of the file system; @reserve: of room_open_reserve(), stays the caller's; -1: one of our
 * own. A reserve that does not fit is spent from the start; a file system that knows no reservation
 * goes without. -ENOMEM, or what opening @folder says.
 */
int room_open(const char *folder, int reserve, uint64_t reserve_bytes, uint64_t keep_free_bytes,
	struct room **ret);
struct room *room_close(struct room *room);

/* The disk is full: the reserve is freed. True when that made room. */
bool room_spend(struct room *room);

/* What is free, less what has to stay so; INT64_MAX when that cannot be told. */
int64_t room_left(const struct room *room);

/* May records be taken? Looks at the disk ten times a second at most. */
bool room_is_there(struct room *room);

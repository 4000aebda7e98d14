/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Files that cannot be what their name says: found out by their first bytes, and moved out of the
 * way, never opened for writing and never deleted. Store thread; a file that SQLite has open here
 * must not be looked at (closing it again would drop SQLite's locks).
 */
#include <stdbool.h>
#include <stdint.h>

/* Is @error what a file is (damaged, not ours, of a newer rtl), not what befell it? */
bool aside_is_damage(int error);

/*
 * What the header of @path, its length and the header of its WAL tell; no page is read.
 * 0: nothing against it, or it is empty, or a journal may change it yet; -EMEDIUMTYPE: no database,
 * or not of @application_id; -EPROTONOSUPPORT: user_version above @version_max; -EUCLEAN: damaged,
 * cut off, or with a WAL that is rubbish; what open() and read() say.
 */
int aside_check(const char *path, uint32_t application_id, uint32_t version_max);

/* Was @path, damaged as it may be, ever a database of rtl? What a user put there is not ours. */
bool aside_is_ours(const char *path);

/*
 * Renames @path with -wal, -shm and -journal to PATH.corrupt-YYYYMMDDTHHMMSSZ (and -2 ... where
 * that is taken) and syncs the folder. *@ret_aside: to be freed. What rename() says: then nothing
 * has changed.
 */
int aside_move(const char *path, char **ret_aside);

/* The other way; for when nothing can be put in its place. */
void aside_undo(const char *path, const char *aside);

/* A log without its database: it went aside, and the collector died before the log did. */
void aside_move_orphans(const char *path);

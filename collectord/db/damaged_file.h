/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Finds files that cannot be what their name says, by their first bytes, and moves them out of the
 * way. Such a file is never opened for writing and never deleted. Store thread. The caller must not
 * check a file that SQLite has open in this process: closing it again would drop SQLite's locks.
 */
#include <stdbool.h>
#include <stdint.h>

/* True if @error describes the file itself (damaged, not ours, of a newer rtl), not a failed
 * operation. */
bool aside_is_damage(int error);

/*
 * Checks the header of @path, its length and the header of its WAL; reads no page. 0: nothing is
 * wrong, or the file is empty, or a journal may still change it; -EMEDIUMTYPE: not a database, or
 * not of @application_id; -EPROTONOSUPPORT: user_version is above @version_max; -EUCLEAN: damaged,
 * cut off, or its WAL is invalid; or the error of open() or read().
 */
int aside_check(const char *path, uint32_t application_id, uint32_t version_max);

/* True if @path, however damaged, was once a database of rtl. A file that a user put there is not
 * ours. */
bool aside_is_ours(const char *path);

/*
 * Renames @path with its -wal, -shm and -journal to PATH.corrupt-YYYYMMDDTHHMMSSZ (and -2 ... if
 * that is taken) and syncs the folder. The caller frees *@ret_aside. Returns the error of rename():
 * then nothing has changed.
 */
int aside_move(const char *path, char **ret_aside);

/* Undoes aside_move(), for a caller that could not put another file in its place. */
void aside_undo(const char *path, const char *aside);

/* Moves a WAL that has no database out of the way: the collector died between the two renames of
 * aside_move(). */
void aside_move_orphans(const char *path);

// SPDX-License-Identifier: MIT
/*
 * The files and folders that are being written under a temporary name. A signal that ends the
 * program (SIGHUP, SIGINT, SIGTERM) removes them first, and so does exit(). A signal that the
 * program already ignores or handles when the first path is added is left alone. Only one thread at
 * a time may call these functions.
 */
#pragma once

/*
 * mkostemp(@pattern, O_CLOEXEC) and mkdtemp(@pattern), of which no signal sees what is made and not
 * yet added. Return the descriptor, which is the caller's, or 0; negative: -errno, and nothing is
 * made.
 */
int unfinished_make_file(char *pattern);
int unfinished_make_folder(char *pattern);

/* Adds what is not made yet. Copies @path. A folder is added before its files, which are removed
 * before it. */
void unfinished_add(const char *path);

/* Does the same for a SQLite database and the files that SQLite keeps beside it. */
void unfinished_add_database(const char *path);

/* Forgets @path, which has been published or removed, and all paths that begin with it (the files
 * in the folder, or beside the database). */
void unfinished_end(const char *path);

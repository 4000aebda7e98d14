// SPDX-License-Identifier: MIT
/*
 * The files and folders that are being written under a temporary name. A signal that ends the
 * program (SIGHUP, SIGINT, SIGTERM) removes them first; one that the program ignores or handles
 * itself when the first path is added stays as it is. To be called from one thread at a time.
 */
#pragma once

/* PATH is copied. Files of a folder are added after their folder, and are removed before it. When
 * memory is short the path is not added: the file then stays behind after a signal. */
void unfinished_add(const char *path);

/* The same for a SQLite database and the files that SQLite keeps beside it. */
void unfinished_add_database(const char *path);

/* PATH has been published or removed: forgets it and all that begins with it (what is in the
 * folder, or beside the database). */
void unfinished_end(const char *path);

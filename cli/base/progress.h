/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A bar on the terminal of stderr, for what may take seconds; nothing where stderr is no terminal,
 * or TERM is dumb. One at a time, one thread. say() ends it; before anything is written to stdout
 * the caller does.
 */
#include <stdint.h>

/* @what, as in "export": borrowed until the end. */
void progress_begin(const char *what);
/* So much of @all is done; drawn ten times a second at most, so that it may be called for each few
 * thousand rows. */
void progress_set(uint64_t done, uint64_t all);
/*
 * The same for what reads @rows rows of a database, about: query_next() counts them by
 * progress_add(). Nothing is drawn for a few rows, nor in the first tenth of a second.
 */
void progress_begin_rows(const char *what, uint64_t rows);
void progress_add(uint64_t rows);
/* The line is empty again. Without a begin nothing happens. */
void progress_end(void);

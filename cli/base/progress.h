/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A bar on the terminal of stderr, for what may take seconds; nothing where stderr is no terminal,
 * or TERM is dumb. One at a time, one thread. A line that is said meanwhile would be drawn over:
 * progress_end() first.
 */
#include <stdint.h>

/* @what, as in "export": borrowed until the end. */
void progress_begin(const char *what);
/* So much of @all is done; drawn ten times a second at most, so that it may be called for each few
 * thousand rows. */
void progress_set(uint64_t done, uint64_t all);
/* The line is empty again. Without a begin nothing happens. */
void progress_end(void);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Messages of rtl: one line on stderr that starts with "rtl: ", with control bytes escaped, because
 * file names, session names and command lines come from other programs. stdout contains data and is
 * never written here. Called by main.c, options.c and the file of each verb; all other code returns
 * errors.
 */
#include <stddef.h>

/* "rtl: what: why; what to do"; on a terminal broken between words where it does not fit. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Returns the name among @count that is nearest to @word (at most two edits away), or NULL. For
 * "did you mean".
 */
const char *say_nearest(const char *word, const char *const *names, size_t count);

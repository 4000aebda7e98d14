/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What rtl says to people: one line on stderr, "rtl: " in front, control bytes escaped,
 * because file names, session names and command lines come from others. stdout is data and
 * never written here. Called by main.c, options.c and the file of each verb; everything else
 * returns errors.
 */
#include <stddef.h>

/* "rtl: what: why; what to do" */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * The one of @count names nearest to @word (an edit or two away), or NULL.
 * For "did you mean".
 */
const char *say_nearest(const char *word, const char *const *names, size_t count);

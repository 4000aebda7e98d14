/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Parses step metrics in the text of a mark: "loss=1.2 lr=3e-4". Keeps no state but a locale
 * object, allocates nothing else, and does not depend on the current locale; any text is harmless.
 * Any thread.
 */
#include <stdbool.h>

#include "proto/base/limits.h"

struct metric {
	char name[METRIC_NAME_BYTES_MAX + 1];
	double value; /* finite */
};

/*
 * Reads the next pair of *@text, a NUL-terminated string, and moves *@text past it; returns false
 * if there is none. Pairs are separated by blanks, commas or semicolons. A word that is not
 * name=number (a decimal number and nothing after it) is skipped, as is a name that is too long.
 */
bool metric_next(const char **text, struct metric *ret);

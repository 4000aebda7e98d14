/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Step metrics in the text of a mark: "loss=1.2 lr=3e-4". Pure: no state, no memory, no locale;
 * any text is harmless. Any thread.
 */
#include <stdbool.h>

#include "proto/base/limits.h"

struct metric {
	char name[METRIC_NAME_BYTES_MAX + 1];
	double value; /* finite */
};

/*
 * The next pair of *@text, a NUL-terminated string, and moves *@text past it; false: there is
 * none. Pairs stand between blanks, commas or semicolons; a word that is not name=number (a
 * decimal number and nothing behind it) is passed over, as is a name that is too long.
 */
bool metric_next(const char **text, struct metric *ret);

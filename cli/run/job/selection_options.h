/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The options that choose what to record (proto/settings/selection.h), for rtl run and rtl env:
 * rows for their argp tables, and the values that the job gets. A flag has priority over its
 * variable in rtl's own environment. Both are checked here, where an error can still be reported.
 */
#include <stdbool.h>

#include "proto/settings/selection.h"

#define CHOICES_KEY 0x400

/* Ranks and GPUs have the letters that they have in every verb. */
#define CHOICES_KEY_OF(key)                                                                        \
	((key) == CHOICE_RANKS ? 'r' : (key) == CHOICE_GPUS ? 'g' : CHOICES_KEY + (int)(key))
#define CHOICES_ROW(key, option, variable, arg, help)                                              \
	{option, CHOICES_KEY_OF(key), arg, 0, help, 20},
#define CHOICES_ARGP                                                                               \
	{NULL, 0, NULL, 0,                                                                         \
		"What to record (else everything; each is also a variable, RTL_...):", 20},        \
		CHOICE_OPTIONS(CHOICES_ROW)

struct choices {
	const char *text[CHOICE_COUNT]; /* value of a flag; NULL if it was not given */
};

/* For a parser: true if @key is one of these; @value is NULL for a flag. Errors end the program. */
bool choices_take(struct choices *choices, int key, const char *value);

/* After opts_parse(): checks that the flags and the variables are consistent. */
void choices_check(const struct choices *choices);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The completeness line (proto/names/completeness.h) in colour, where a person looks at it: on a
 * terminal whose TERM is not dumb, unless NO_COLOR says otherwise (no-color.org); --color stands
 * over both. One thread.
 */
#include <stdio.h>

enum color_when {
	COLOR_AUTO,
	COLOR_ALWAYS,
	COLOR_NEVER,
};

/* What --color says. */
void color_choose(enum color_when when);

/* Writes @line and a newline, its word (complete, RUNNING or INCOMPLETE) in colour. On a terminal
 * the line is broken between words where the terminal ends. */
void color_put_verdict(FILE *to, const char *line);

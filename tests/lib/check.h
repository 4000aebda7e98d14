/* SPDX-License-Identifier: MIT */
#pragma once
/* For programs that a test runs: they end where a call fails, and say which. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* @result is 0, or the program ends with 1. */
static inline void check(int result, const char *what)
{
	if (!result)
		return;
	fprintf(stderr, "%s: %s: %d\n", program_invocation_short_name, what, result);
	exit(1);
}

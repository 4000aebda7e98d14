/* SPDX-License-Identifier: MIT */
#pragma once
/* The reason for a failure, which a caller puts into its message. */

/* The reason for a failure, for one line; longer text is cut off. */
#define RUN_WHY_BYTES 512
void run_why(char why[RUN_WHY_BYTES], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

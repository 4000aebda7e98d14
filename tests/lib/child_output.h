/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What a function prints and how it ends, where it ends the process that calls it: it runs in a
 * child of the test. Asserts through cmocka.
 */
#include <stddef.h>

struct child_output {
	int status;	 /* the exit status, or 128 plus the number of the signal */
	char text[8192]; /* of stdout and stderr in the order in which they came; the rest is cut */
};

/*
 * Runs @body(@data) in a child, which exits with 0 if @body returns. Both streams are a pipe, or,
 * if @columns is not 0, a terminal of that width that does not change what is written.
 */
void child_output_of(
	void (*body)(void *data), void *data, unsigned columns, struct child_output *ret);

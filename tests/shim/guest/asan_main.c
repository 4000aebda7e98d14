/* SPDX-License-Identifier: MIT
 * A program with gcc's address sanitizer, as a user builds it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	char *copy = strdup(argc > 1 ? argv[1] : "sound");

	puts(copy);
	free(copy);
	return argc > 2 ? copy[0] : 3; /* a use after free, which the sanitizer has to report */
}

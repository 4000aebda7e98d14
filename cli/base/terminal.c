// SPDX-License-Identifier: MIT
#include "cli/base/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool terminal_is_smart(int fd)
{
	const char *term = getenv("TERM");

	return term && *term && strcmp(term, "dumb") != 0 && isatty(fd);
}

bool terminal_has_color(int fd)
{
	const char *no_color = getenv("NO_COLOR");

	return !(no_color && *no_color) && terminal_is_smart(fd);
}

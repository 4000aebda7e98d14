// SPDX-License-Identifier: MIT
#include "cli/terminal.h"

#include <ncurses.h>
#include <term.h>

bool terminal_is_known(int fd)
{
	int error;

	if (setupterm(NULL, fd, &error) != OK)
		return false;
	del_curterm(cur_term);
	return true;
}

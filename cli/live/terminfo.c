// SPDX-License-Identifier: MIT
#include "cli/live/terminfo.h"

#include <ncurses.h>
#include <term.h>

bool terminal_has_screen(int fd)
{
	bool has_screen;
	int error;

	if (setupterm(NULL, fd, &error) != OK)
		return false;
	has_screen = cursor_address && clear_screen;
	del_curterm(cur_term);
	return has_screen;
}

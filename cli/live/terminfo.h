/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What terminfo knows of the terminal. Separate from the screen, since <term.h> defines words like
 * `lines` and `columns` as macros. One thread; prints nothing.
 */
#include <stdbool.h>

/*
 * True if $TERM has an entry, and text can be placed anywhere on it (dumb cannot); @fd is the
 * terminal.
 */
bool terminal_has_screen(int fd);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What terminfo knows of the terminal. Apart from the screen, since <term.h> defines words like
 * `lines` and `columns` as macros. One thread; prints nothing.
 */
#include <stdbool.h>

/* Whether $TERM has an entry, and can be drawn on anywhere (dumb cannot); @fd is the terminal. */
bool terminal_has_screen(int fd);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The live view of rtl stat on a terminal: the only user of ncurses. One thread.
 */
#include <stdint.h>

#include "cli/live/view.h"

/* What the user did while the screen waited. */
enum stat_key {
	STAT_KEY_NONE, /* the time is over */
	STAT_KEY_QUIT,
	STAT_KEY_REFRESH,
	STAT_KEY_REDRAW, /* the size changed, or the user scrolled */
	STAT_KEY_ORDER,
	STAT_KEY_PAUSE,
};

/* Returns 0, or -ENOTTY if this terminal cannot show it. */
int stat_screen_open(void);
void stat_screen_close(void);

/* Columns of the terminal, as of the last draw or key. */
size_t stat_screen_width(void);
void stat_screen_draw(const struct stat_view *view, enum stat_order order, bool is_paused);

/* Waits for a key for at most @timeout_ns. */
enum stat_key stat_screen_wait(uint64_t timeout_ns);

/* SPDX-License-Identifier: MIT */
#pragma once
/* Shows a page in the user's browser. One thread. */

/*
 * Runs BROWSER, or xdg-open, and waits for it: such programs hand the page on and end. Returns 0,
 * or -errno after a line that says why.
 */
int open_page(const char *path);

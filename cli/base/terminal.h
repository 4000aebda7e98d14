/* SPDX-License-Identifier: MIT */
#pragma once
/* What the user's terminal may be sent: by isatty(), TERM and NO_COLOR (no-color.org). Any thread.
 */
#include <stdbool.h>

/* True if @fd is a terminal that knows escape sequences: TERM is neither empty nor dumb. */
bool terminal_is_smart(int fd);

/* True if it may have colours, too: NO_COLOR is unset or empty. */
bool terminal_has_color(int fd);

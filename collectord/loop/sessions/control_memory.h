/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Writes and reads the starts and stops of a session as a text, one line each, oldest first. The
 * database keeps the text for the next collector. Pure functions.
 */
#include "collectord/loop/sessions/recording_control.h"

/* Returns a new string, or NULL if memory runs out. */
char *control_memory_write(const struct control *controls, unsigned count);

/*
 * Stores at most CONTROLS_PER_SESSION_MAX controls in @ret and returns their number. Returns 0 if
 * the text is not valid.
 */
unsigned control_memory_read(const char *text, struct control *ret);

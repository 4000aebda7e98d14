/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What a session was told, as a text that its database keeps for the next life of the collector:
 * a line for each start or stop, oldest first. Pure.
 */
#include "collectord/loop/recording_control.h"

/* A fresh string. NULL: no memory. */
char *control_memory_write(const struct control *controls, unsigned count);

/* At most CONTROLS_PER_SESSION_MAX into @ret; how many. 0: it is none of ours. */
unsigned control_memory_read(const char *text, struct control *ret);

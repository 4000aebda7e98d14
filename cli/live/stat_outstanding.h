/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * rtl stat --outstanding: the collectors check what is in flight now and write it to their
 * databases, which are then read. For stat.c; one thread.
 */
#include <stdbool.h>

/* With @socket or @session NULL: all that this user may see. Returns a status of command.h. */
int stat_outstanding(const char *socket, const char *session, bool is_json);

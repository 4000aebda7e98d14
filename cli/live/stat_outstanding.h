/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * rtl stat --outstanding: the collectors look at what is in flight now, then their databases say it.
 * For stat.c; one thread.
 */
#include <stdbool.h>

/* @socket, @session: NULL: all that this user may see. A status of command.h. */
int stat_outstanding(const char *socket, const char *session, bool is_json);

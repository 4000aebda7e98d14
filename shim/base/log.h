/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What the shim says on stderr: nothing by default, one line a process when recording is
 * impossible, more under RTL_DEBUG. One write() a line, errno kept, no allocation, no lock;
 * for cold paths of any thread, never for the dispatch path.
 */

/* @debug: RTL_DEBUG. */
void slog_init(unsigned debug);

/* Only when RTL_DEBUG >= @level. */
__attribute__((format(printf, 2, 3))) void slog_debug(unsigned level, const char *format, ...);

/* The one line that users see; later ones need RTL_DEBUG. */
__attribute__((format(printf, 1, 2))) void slog_tell(const char *format, ...);

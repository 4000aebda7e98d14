/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The shim's messages on stderr: none by default, one line per process if recording is impossible,
 * more with RTL_DEBUG. Each line is one write(); errno is kept, nothing is allocated, no lock is
 * taken. For cold paths of any thread, never for the dispatch path.
 */

/* @debug is the value of RTL_DEBUG. */
void slog_init(unsigned debug);

/* Prints only if RTL_DEBUG >= @level. */
__attribute__((format(printf, 2, 3))) void slog_debug(unsigned level, const char *format, ...);

/* Prints the one line that users see; after the first, lines need RTL_DEBUG. */
__attribute__((format(printf, 1, 2))) void slog_tell(const char *format, ...);

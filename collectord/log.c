/* SPDX-License-Identifier: MIT */
#include "collectord/log.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/clock.h"

#define LOG_LINE_BYTES 1024
/* A few bad peers are shown in full; a flood of them must not fill the journal. */
#define LOG_PEER_LINES 20u
#define LOG_PEER_NS    5000000000ull

static bool is_verbose_log;
static bool is_journal;

struct log_limit {
	const char *what;
	uint64_t window_ns; /* when it began */
	unsigned lines;
	unsigned suppressed;
};
static struct log_limit peer_limit = {.what = "about peers"};
static struct log_limit event_limit = {.what = "about sessions"};

void log_init(bool is_verbose)
{
	is_verbose_log = is_verbose;
	is_journal = getenv("JOURNAL_STREAM") != NULL;
}

/* One write per line, so that lines of two programs on one terminal stay whole. */
__attribute__((format(printf, 2, 0))) static void print_line(
	int level, const char *format, va_list arguments)
{
	char line[LOG_LINE_BYTES];
	int at = is_journal ? snprintf(line, sizeof(line), "<%d>", level) : 0;
	int n;

	at += snprintf(line + at, sizeof(line) - (size_t)at, "collectord: ");
	n = vsnprintf(line + at, sizeof(line) - (size_t)at - 1, format, arguments);
	if (n < 0)
		return;
	at = (int)strlen(line);
	line[at] = '\n';
	fwrite(line, 1, (size_t)at + 1, stderr);
}

#define PRINT(level, format)                                                                       \
	do {                                                                                       \
		va_list arguments_;                                                                \
		va_start(arguments_, format);                                                      \
		print_line(level, format, arguments_);                                             \
		va_end(arguments_);                                                                \
	} while (0)

void log_info(const char *format, ...)
{
	PRINT(6, format);
}

void log_warning(const char *format, ...)
{
	PRINT(4, format);
}

void log_error(const char *format, ...)
{
	PRINT(3, format);
}

void log_debug(const char *format, ...)
{
	if (is_verbose_log)
		PRINT(7, format);
}

static bool may_say(struct log_limit *limit)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (now_ns - limit->window_ns > LOG_PEER_NS) {
		if (limit->suppressed)
			log_warning("%u more lines %s", limit->suppressed, limit->what);
		limit->window_ns = now_ns;
		limit->lines = 0;
		limit->suppressed = 0;
	}
	if (limit->lines++ < LOG_PEER_LINES)
		return true;
	limit->suppressed++;
	return false;
}

void log_peer(const char *format, ...)
{
	if (may_say(&peer_limit))
		PRINT(4, format);
}

void log_event(const char *format, ...)
{
	if (may_say(&event_limit))
		PRINT(6, format);
}

/* SPDX-License-Identifier: MIT */
#include "collectord/service/log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/clock.h"

#define LOG_LINE_BYTES 1024
/* A few bad peers are logged in full; a flood of them must not fill the journal. */
#define LOG_PEER_LINES 20u
#define LOG_PEER_NS    5000000000ull
/*
 * The same refusal of the same user is logged once a minute, later with a count. This many users
 * and reasons are remembered.
 */
#define LOG_REFUSAL_NS 60000000000ull
#define LOG_REFUSALS   32u

static bool is_verbose_log;
static bool is_journal;
static char tenant_words[LOG_TENANT_BYTES];

struct log_limit {
	const char *what;
	uint64_t window_ns; /* start of the current window */
	unsigned lines;
	unsigned suppressed;
};
static struct log_limit peer_limit = {.what = "about peers"};
static struct log_limit event_limit = {.what = "about sessions"};

static struct log_refusal {
	uint64_t said_ns; /* time of the log line; 0: not in use */
	unsigned again;
	char text[LOG_REFUSAL_BYTES];
} refusals[LOG_REFUSALS];

void log_init(bool is_verbose)
{
	is_verbose_log = is_verbose;
	is_journal = getenv("JOURNAL_STREAM") != NULL;
}

void log_tenant(const char *tenant)
{
	snprintf(tenant_words, sizeof(tenant_words), "%s", tenant);
}

/*
 * The line may hold text that a peer chose: replaces control characters, so that it stays one line
 * and cannot control a terminal.
 */
static void make_plain(char *line)
{
	for (uint8_t *at = (uint8_t *)line; *at; at++) {
		if (*at == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0)
			*at++ = '?';
		else if (*at >= 0x20 && *at != 0x7f)
			continue;
		*at = '?';
	}
}

/* Writes each line with one write, so that lines of two programs on one terminal stay whole. */
__attribute__((format(printf, 2, 0))) static void print_line(
	int level, const char *format, va_list arguments)
{
	char line[LOG_LINE_BYTES];
	int at = is_journal ? snprintf(line, sizeof(line), "<%d>", level) : 0;
	uint64_t now_us = clock_monotonic_ns() / 1000;
	int n;

	at += snprintf(line + at, sizeof(line) - (size_t)at, "collectord: ");
	if (is_verbose_log)
		at += snprintf(line + at, sizeof(line) - (size_t)at, "[%" PRIu64 ".%06" PRIu64 "] ",
			now_us / 1000000, now_us % 1000000);
	if (tenant_words[0])
		at += snprintf(line + at, sizeof(line) - (size_t)at, "%s: ", tenant_words);
	n = vsnprintf(line + at, sizeof(line) - (size_t)at - 1, format, arguments);
	if (n < 0)
		return;
	make_plain(line);
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

static bool is_within_rate(struct log_limit *limit)
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
	if (is_within_rate(&peer_limit))
		PRINT(4, format);
}

static void forget_refusal(struct log_refusal *refusal)
{
	if (refusal->again)
		log_peer("refused %u more times: %s", refusal->again, refusal->text);
	refusal->said_ns = 0;
}

/*
 * Returns the entry of @text, or a free one, or the oldest one after logging its count.
 */
static struct log_refusal *find_refusal(const char *text)
{
	struct log_refusal *oldest = &refusals[0];

	for (struct log_refusal *r = refusals; r < refusals + LOG_REFUSALS; r++) {
		if (r->said_ns && !strncmp(r->text, text, sizeof(r->text) - 1))
			return r;
		if (r->said_ns < oldest->said_ns)
			oldest = r;
	}
	if (oldest->said_ns)
		forget_refusal(oldest);
	return oldest;
}

void log_refusal(unsigned uid, int pid, const char *text)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct log_refusal *refusal;

	for (struct log_refusal *r = refusals; r < refusals + LOG_REFUSALS; r++)
		if (r->said_ns && now_ns - r->said_ns > LOG_REFUSAL_NS)
			forget_refusal(r);
	refusal = find_refusal(text);
	if (refusal->said_ns) {
		refusal->again++;
		return;
	}
	*refusal = (struct log_refusal){.said_ns = now_ns};
	snprintf(refusal->text, sizeof(refusal->text), "%s", text);
	log_peer("uid %u pid %d refused: %s", uid, pid, text);
}

void log_done(void)
{
	for (struct log_refusal *r = refusals; r < refusals + LOG_REFUSALS; r++)
		if (r->said_ns)
			forget_refusal(r);
}

void log_event(const char *format, ...)
{
	if (is_within_rate(&event_limit))
		PRINT(6, format);
}

/* SPDX-License-Identifier: MIT */
#include "shim/base/log.h"
#include "shim/base/glibc_compat.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES_MAX 512

static atomic_uint slog_level;
static atomic_uint slog_has_told;

void slog_init(unsigned debug)
{
	atomic_store_explicit(&slog_level, debug, memory_order_relaxed);
}

/*
 * If stderr is a pipe that is full or has no reader, the line is lost: it may neither block the
 * program nor end it by a signal.
 */
static void line_out(const char *line, size_t bytes)
{
	struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
	const struct timespec none = {0};
	sigset_t own, saved, pending;
	ssize_t written;
	int r;

	do
		r = poll(&room, 1, 0);
	while (r < 0 && errno == EINTR);
	if (r != 1 || room.revents != POLLOUT)
		return;
	sigemptyset(&own);
	sigaddset(&own, SIGPIPE);
	sigaddset(&own, SIGXFSZ);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &own, &saved);
	written = write(STDERR_FILENO, line, bytes);
	if (written < 0 && (errno == EPIPE || errno == EFBIG) && !sigismember(&pending, SIGPIPE) &&
		!sigismember(&pending, SIGXFSZ))
		sigtimedwait(&own, NULL, &none);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
}

__attribute__((format(printf, 1, 0))) static void line_write(const char *format, va_list arguments)
{
	static const char prefix[] = "rtl: ";
	char line[LINE_BYTES_MAX];
	int saved = errno;
	size_t used = sizeof(prefix) - 1;
	int bytes;

	memcpy(line, prefix, used);
	bytes = vsnprintf(line + used, sizeof(line) - used - 1, format, arguments);
	if (bytes > 0) {
		used += (size_t)bytes < sizeof(line) - used - 1 ? (size_t)bytes
								: sizeof(line) - used - 2;
		line[used++] = '\n';
		line_out(line, used);
	}
	errno = saved;
}

void slog_debug(unsigned level, const char *format, ...)
{
	va_list arguments;

	if (atomic_load_explicit(&slog_level, memory_order_relaxed) < level)
		return;
	va_start(arguments, format);
	line_write(format, arguments);
	va_end(arguments);
}

void slog_tell(const char *format, ...)
{
	va_list arguments;

	if (atomic_exchange_explicit(&slog_has_told, 1, memory_order_relaxed) &&
		!atomic_load_explicit(&slog_level, memory_order_relaxed))
		return;
	va_start(arguments, format);
	line_write(format, arguments);
	va_end(arguments);
}

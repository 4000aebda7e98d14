// SPDX-License-Identifier: MIT
#include "tests/workload/talk.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static int talk_rank = -1;

void talk_as_rank(int rank)
{
	talk_rank = rank;
}

void talk(const char *format, ...)
{
	char line[1024] = "rtl-demo: ";
	size_t len = sizeof("rtl-demo: ") - 1;
	va_list args;
	int n;

	if (talk_rank >= 0)
		len += (size_t)snprintf(line + len, sizeof(line) - len, "rank %d: ", talk_rank);
	va_start(args, format);
	n = vsnprintf(line + len, sizeof(line) - len - 1, format, args);
	va_end(args);
	if (n > 0)
		len += (size_t)n < sizeof(line) - len - 1 ? (size_t)n : sizeof(line) - len - 2;
	line[len++] = '\n';
	/* One write keeps the lines of several ranks apart. If it fails, there is no place to
	 * report it. */
	if (write(STDERR_FILENO, line, len) < 0)
		return;
}

/* SPDX-License-Identifier: MIT */
#include "proto/base/clock.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "proto/base/cleanup.h"

/* The decimal number behind blanks at *@at, which is moved behind it. By hand: scanf is no guest's.
 */
static int64_t take_number(const char **at)
{
	int64_t value = 0, sign = 1;

	while (**at == ' ' || **at == '\t')
		++*at;
	if (**at == '-') {
		sign = -1;
		++*at;
	}
	for (; **at >= '0' && **at <= '9'; ++*at)
		value = value * 10 + (**at - '0');
	return sign * value;
}

int64_t clock_parse_offsets(const char *text)
{
	static const char *const names[] = {"boottime", "\n7 "}; /* older kernels: by number */
	const char *at;
	int64_t seconds;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		at = strstr(text, names[i]);
		if (!at)
			continue;
		at += strlen(names[i]);
		seconds = take_number(&at);
		return seconds * 1000000000 + take_number(&at);
	}
	return 0;
}

/* The children's offsets are ours unless this process has made a time namespace for them. */
static bool is_in_namespace_of_children(void)
{
	char ours[64], theirs[64];
	ssize_t n = readlink("/proc/self/ns/time", ours, sizeof(ours));

	return n > 0 && readlink("/proc/self/ns/time_for_children", theirs, sizeof(theirs)) == n &&
	       !memcmp(ours, theirs, (size_t)n);
}

void clock_find_shift(void)
{
	CLEANUP(close_p) int fd = open("/proc/self/timens_offsets", O_RDONLY | O_CLOEXEC);
	int64_t offset_ns;
	char text[256];
	ssize_t n;

	/* Some kernels have no such namespaces. */
	n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	offset_ns = clock_parse_offsets(text);
	if (offset_ns && !is_in_namespace_of_children())
		offset_ns = 0;
	if (clock_boottime_shift_ns != -offset_ns) /* other threads may read it by now */
		clock_boottime_shift_ns = -offset_ns;
}

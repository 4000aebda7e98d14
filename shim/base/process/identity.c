/* SPDX-License-Identifier: MIT */
#include "shim/base/process/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "proto/base/cleanup.h"
#include "proto/base/clock.h"

/* Returns the bytes read, NUL-terminated, or -errno. Uses read(), since stdio would allocate. */
static ssize_t file_read(const char *path, char *to, size_t capacity)
{
	CLEANUP(close_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;

	if (fd < 0)
		return -errno;
	while (used < capacity - 1) {
		ssize_t bytes = read(fd, to + used, capacity - 1 - used);

		if (bytes < 0 && errno == EINTR)
			continue;
		if (bytes < 0)
			return -errno;
		if (!bytes)
			break;
		used += (size_t)bytes;
		/* These are files of /proc: a short read means the end. */
		if (used < capacity - 1)
			break;
	}
	to[used] = '\0';
	return (ssize_t)used;
}

int identity_parse_stat(const char *text, uint64_t *ret)
{
	/* The name in field 2 may contain blanks and parentheses, so count from the last one. */
	const char *at = strrchr(text, ')');
	uint64_t value = 0;

	if (!at)
		return -EBADMSG;
	for (int field = 2; field < 22; field++) {
		at = strchr(at, ' ');
		if (!at)
			return -EBADMSG;
		at++;
	}
	if (*at < '0' || *at > '9')
		return -EBADMSG;
	for (; *at >= '0' && *at <= '9'; at++)
		value = value * 10 + (uint64_t)(*at - '0');
	*ret = value;
	return 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int identity_parse_uuid(const char *text, uint8_t ret[16])
{
	uint8_t bytes[16] = {0};
	int digits = 0;

	for (; *text && *text != '\n'; text++) {
		int digit = hex_digit(*text);

		if (*text == '-')
			continue;
		if (digit < 0 || digits == 32)
			return -EBADMSG;
		bytes[digits / 2] = (uint8_t)(bytes[digits / 2] << 4 | digit);
		digits++;
	}
	if (digits != 32)
		return -EBADMSG;
	memcpy(ret, bytes, sizeof(bytes));
	return 0;
}

static void names_read(struct identity *identity)
{
	ssize_t bytes;

	bytes = readlink("/proc/self/exe", identity->exe, sizeof(identity->exe) - 1);
	identity->exe[bytes > 0 ? bytes : 0] = '\0';

	bytes = file_read("/proc/self/cmdline", identity->command, sizeof(identity->command));
	for (ssize_t i = 0; i + 1 < bytes; i++)
		if (!identity->command[i])
			identity->command[i] = ' ';
	if (bytes < 0)
		identity->command[0] = '\0';

	if (gethostname(identity->host, sizeof(identity->host)))
		identity->host[0] = '\0';
	identity->host[sizeof(identity->host) - 1] = '\0';
}

int identity_read(struct identity *ret)
{
	char text[1024];
	ssize_t bytes;
	int r;

	memset(ret, 0, sizeof(*ret));
	ret->start_ns = clock_boottime_ns();
	ret->pid = getpid();

	bytes = file_read("/proc/sys/kernel/random/boot_id", text, sizeof(text));
	if (bytes < 0)
		return (int)bytes;
	r = identity_parse_uuid(text, ret->boot_id);
	if (r)
		return r;

	bytes = file_read("/proc/self/stat", text, sizeof(text));
	if (bytes < 0)
		return (int)bytes;
	r = identity_parse_stat(text, &ret->start_time);
	if (r)
		return r;
	ret->start_time = clock_machine_ticks(ret->start_time);

	do
		bytes = getrandom(ret->token, sizeof(ret->token), 0);
	while (bytes < 0 && errno == EINTR);
	if (bytes != (ssize_t)sizeof(ret->token))
		return bytes < 0 ? -errno : -EIO;

	names_read(ret);
	return 0;
}

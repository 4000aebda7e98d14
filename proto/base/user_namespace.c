/* SPDX-License-Identifier: MIT */
#include "proto/base/user_namespace.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/cleanup.h"

#define OVERFLOW_UID 65534u /* the kernel's default, see /proc/sys/kernel/overflowuid */
#define EVERY_UID    4294967295u

/* Reads a small file into a string, as much as fits. */
static bool read_text(const char *path, char *ret, size_t bytes)
{
	CLEANUP(close_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, ret, bytes - 1);

	if (n <= 0)
		return false;
	ret[n] = '\0';
	return true;
}

bool namespace_hides_uids(void)
{
	char text[128], *at = text;
	unsigned long first, outside, count;

	if (!read_text("/proc/self/uid_map", text, sizeof(text)))
		return false;
	first = strtoul(at, &at, 10);
	outside = strtoul(at, &at, 10);
	count = strtoul(at, &at, 10);
	return first || outside || count != EVERY_UID;
}

uid_t namespace_hidden_uid(void)
{
	char text[16];

	if (!read_text("/proc/sys/kernel/overflowuid", text, sizeof(text)))
		return OVERFLOW_UID;
	return (uid_t)strtoul(text, NULL, 10);
}

bool namespace_hides_pids(void)
{
	char text[4096];
	char *pids = read_text("/proc/self/status", text, sizeof(text)) ? strstr(text, "\nNSpid:")
									: NULL;

	if (!pids)
		return false;
	/* One in each namespace, from that of /proc to ours. */
	(void)strtoul(pids + strlen("\nNSpid:"), &pids, 10);
	return *pids && *pids != '\n';
}

/* Not stat(): the shim may meet a C library that has it under another name. */
static bool stat_path(const char *path, struct statx *ret)
{
	return statx(AT_FDCWD, path, 0, STATX_TYPE | STATX_MODE | STATX_UID, ret) == 0;
}

bool namespace_is_from_outside(const char *path, uid_t uid)
{
	char folder[PATH_MAX];
	struct statx st;
	char *slash;

	if (!namespace_hides_uids() || uid != namespace_hidden_uid())
		return false;
	if (strlen(path) >= sizeof(folder))
		return false;
	strcpy(folder, path);
	slash = strrchr(folder, '/');
	if (!slash || slash == folder)
		return false;
	*slash = '\0';
	if (!stat_path(path, &st) || !S_ISSOCK(st.stx_mode) || st.stx_uid != uid)
		return false;
	return stat_path(folder, &st) && st.stx_uid == uid && !(st.stx_mode & (S_IWGRP | S_IWOTH));
}

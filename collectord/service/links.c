/* SPDX-License-Identifier: MIT */
#include "collectord/service/links.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/cleanup.h"
#include "proto/base/format.h"

/* The limit that the kernel has. */
#define LINKS_MAX 40

static bool is_trusted(uid_t owner, uid_t trusted)
{
	return owner == 0 || owner == geteuid() || (trusted != (uid_t)-1 && owner == trusted);
}

/* Returns @path with the symbolic link that ends at @length replaced by its target. */
static int follow(const char *path, size_t length, char **ret)
{
	CLEANUP(free_p) char *link = strndup(path, length);
	char target[PATH_MAX];
	size_t folder;
	ssize_t n;

	if (!link)
		return -ENOMEM;
	n = readlink(link, target, sizeof(target) - 1);
	if (n < 0)
		return -errno;
	target[n] = '\0';
	folder = target[0] == '/' ? 0 : (size_t)(strrchr(link, '/') - link);
	*ret = format_new("%.*s%s%s%s", (int)folder, path, target[0] == '/' ? "" : "/", target,
		path + length);
	if (!*ret)
		return -ENOMEM;
	return 0;
}

/*
 * Returns the end of the first component of @path that is a symbolic link; 0 if there is none among
 * the components that exist; or -errno.
 */
static ssize_t find_link(const char *path, struct stat *ret)
{
	CLEANUP(free_p) char *prefix = strdup(path);
	size_t length = 0;

	if (!prefix)
		return -ENOMEM;
	while (path[length]) {
		length += strspn(path + length, "/");
		length += strcspn(path + length, "/");
		prefix[length] = '\0';
		if (lstat(prefix, ret) < 0)
			return errno == ENOENT ? 0 : -errno;
		if (S_ISLNK(ret->st_mode))
			return (ssize_t)length;
		prefix[length] = path[length];
	}
	return 0;
}

int links_resolve(const char *path, uid_t trusted, char **ret)
{
	CLEANUP(free_p) char *at = strdup(path); /* "": the root */
	struct stat st;

	*ret = NULL;
	if (!at)
		return -ENOMEM;
	for (int i = 0; i <= LINKS_MAX; i++) {
		ssize_t length = find_link(at, &st);
		char *next;
		int r;

		if (length < 0)
			return (int)length;
		if (!length) {
			*ret = TAKE(at);
			return 0;
		}
		if (!is_trusted(st.st_uid, trusted)) {
			at[length] = '\0';
			*ret = TAKE(at);
			return -EPERM;
		}
		r = follow(at, (size_t)length, &next);
		if (r < 0)
			return r;
		free(at);
		at = next;
	}
	return -ELOOP;
}

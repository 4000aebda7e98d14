/* SPDX-License-Identifier: MIT */
#include "collectord/db/tenant_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/acl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/cleanup.h"
#include "proto/base/format.h"

void storage_safe_name(const char *name, char ret[STORAGE_NAME_BYTES])
{
	size_t n = 0;

	for (; name[n] && n < STORAGE_NAME_BYTES - 1; n++) {
		char c = name[n];
		bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
				(c >= '0' && c <= '9') || c == '-' || c == '_' || (c == '.' && n);

		ret[n] = is_plain ? c : '_';
	}
	if (!n)
		ret[n++] = '_';
	ret[n] = 0;
}

int storage_resolve(const char *path, char **ret)
{
	CLEANUP(free_p) char *folder = strdup(path);
	CLEANUP(free_p) char *real = NULL;
	const char *last = strrchr(path, '/');
	char *slash;

	if (!folder)
		return -ENOMEM;
	last = last ? last + 1 : path;
	if (!*last || !strcmp(last, ".") || !strcmp(last, ".."))
		return -EISDIR;
	slash = strrchr(folder, '/');
	if (slash)
		slash[slash == folder] = 0;
	real = realpath(slash ? folder : ".", NULL);
	if (!real)
		return -errno;
	*ret = format_new("%s/%s", strcmp(real, "/") ? real : "", last);
	if (!*ret)
		return -ENOMEM;
	return 0;
}

mode_t storage_file_mode(bool is_private)
{
	return is_private ? 0640 : 0666;
}

bool storage_is_named(int fd, const char *path)
{
	struct stat ours, there;

	return fstat(fd, &ours) == 0 && lstat(path, &there) == 0 && ours.st_dev == there.st_dev &&
	       ours.st_ino == there.st_ino;
}

int storage_create_file(const char *path, bool is_private)
{
	CLEANUP(close_p)
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		storage_file_mode(is_private));

	return fd < 0 ? -errno : 0;
}

int storage_check_file(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode))
		return -ELOOP;
	if (!S_ISREG(st.st_mode))
		return -EMEDIUMTYPE;
	if (st.st_nlink != 1)
		return -EMLINK;
	return st.st_uid == geteuid() ? 0 : -EPERM;
}

static int set_acl(const char *folder, uid_t uid)
{
	char text[96];
	acl_t acl;
	int r = 0;

	/* SQLite makes -wal and -shm with our mode; the mask caps what the ACL then gives the
	 * owner. */
	snprintf(text, sizeof(text), "u::rwx,u:%u:rx,g::-,m::rx,o::-", (unsigned)uid);
	acl = acl_from_text(text);
	if (!acl)
		return -errno;
	if (acl_set_file(folder, ACL_TYPE_ACCESS, acl) < 0 ||
		acl_set_file(folder, ACL_TYPE_DEFAULT, acl) < 0)
		r = -errno;
	acl_free(acl);
	return r;
}

int storage_tenant_folder(const char *dir, uid_t uid, char **ret, bool *ret_acl)
{
	CLEANUP(free_p) char *real = NULL;
	CLEANUP(free_p) char *folder = NULL;
	struct stat st;

	/* Owners may pass through the folder but not list it. */
	if (mkdir(dir, 0711) < 0 && errno != EEXIST)
		return -errno;
	real = realpath(dir, NULL);
	if (!real)
		return -errno;
	folder = format_new("%s/%u", real, (unsigned)uid);
	if (!folder)
		return -ENOMEM;
	if (mkdir(folder, 0700) < 0 && errno != EEXIST)
		return -errno;
	if (lstat(folder, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	if (st.st_uid != geteuid())
		return -EPERM;
	*ret_acl = uid == geteuid() || set_acl(folder, uid) == 0;
	*ret = TAKE(folder);
	return 0;
}

static bool look_at_wal(const char *path, struct stat *ret)
{
	char wal[PATH_MAX];

	snprintf(wal, sizeof(wal), "%s-wal", path);
	return stat(wal, ret) == 0;
}

off_t storage_database_bytes(const char *path)
{
	struct stat st;
	off_t bytes = 0;

	if (stat(path, &st) == 0)
		bytes += st.st_size;
	if (look_at_wal(path, &st))
		bytes += st.st_size;
	return bytes;
}

uint64_t storage_changed_ns(const char *path)
{
	struct stat st;

	if (look_at_wal(path, &st) || stat(path, &st) < 0)
		return 0;
	return (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
}

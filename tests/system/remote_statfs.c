/* SPDX-License-Identifier: MIT
 * Preloaded into rtl by a test: what lies below the folders of REMOTE (divided by colons) is on
 * NFS, and no byte is free below those of FULL. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#define NFS 0x6969

static int is_below(const char *path, const char *variable)
{
	const char *folder = getenv(variable);

	while (folder && *folder) {
		size_t length = strcspn(folder, ":");

		if (!strncmp(path, folder, length) &&
			(length == 1 || !path[length] || path[length] == '/'))
			return 1;
		folder += length + (folder[length] == ':');
	}
	return 0;
}

__attribute__((visibility("default"))) int statfs(const char *path, struct statfs *ret)
{
	int (*real)(const char *, struct statfs *);
	void *found = dlsym(RTLD_NEXT, "statfs");
	int r;

	memcpy(&real, &found, sizeof(real));
	r = real(path, ret);
	if (r == 0 && is_below(path, "REMOTE"))
		ret->f_type = NFS;
	return r;
}

__attribute__((visibility("default"))) int statvfs(const char *path, struct statvfs *ret)
{
	int (*real)(const char *, struct statvfs *);
	void *found = dlsym(RTLD_NEXT, "statvfs");
	int r;

	memcpy(&real, &found, sizeof(real));
	r = real(path, ret);
	if (r == 0 && is_below(path, "FULL"))
		ret->f_bavail = 0;
	return r;
}

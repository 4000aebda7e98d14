// SPDX-License-Identifier: MIT
#include "cli/output/output_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/memory.h"
#include "cli/base/message.h"
#include "cli/output/unfinished.h"
#include "proto/base/cleanup.h"

static void closedir_p(DIR **folder)
{
	if (*folder)
		closedir(*folder);
}

static bool is_dot(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

static bool matches(const char *name, const char *const *patterns)
{
	for (; *patterns; patterns++)
		if (!fnmatch(*patterns, name, 0))
			return true;
	return false;
}

int output_folder_check(const char *name, bool is_forced, const char *const *patterns)
{
	CLEANUP(closedir_p) DIR *folder = NULL;
	struct stat st;

	if (lstat(name, &st))
		return 0;
	if (!S_ISDIR(st.st_mode)) {
		say("%s: exists and is not a folder; name another one", name);
		return -EEXIST;
	}
	folder = opendir(name);
	if (!folder) {
		say("%s: cannot read: %m", name);
		return -EEXIST;
	}
	for (struct dirent *entry; (entry = readdir(folder));) {
		if (is_dot(entry->d_name))
			continue;
		if (!matches(entry->d_name, patterns)) {
			say("%s: has a file that is not of such an export, %s; name another folder",
				name, entry->d_name);
			return -EEXIST;
		}
		if (!is_forced) {
			say("%s: exists and is not empty; -f overwrites it", name);
			return -EEXIST;
		}
	}
	return 0;
}

int output_folder_open(const char *name, struct output_folder *ret)
{
	size_t length = strlen(name);
	mode_t mask = umask(0);
	int r;

	umask(mask);
	while (length > 1 && name[length - 1] == '/')
		length--;
	*ret = (struct output_folder){.name = name};
	ret->path = xasprintf("%.*s.XXXXXX", (int)length, name);
	r = unfinished_make_folder(ret->path);
	if (r == 0 && chmod(ret->path, 0777 & ~mask)) {
		r = -errno;
		rmdir(ret->path);
		unfinished_end(ret->path);
	}
	if (r == 0)
		return 0;
	say("%s: cannot write: %s", name, strerror(-r));
	free(ret->path);
	ret->path = NULL;
	return -EIO;
}

FILE *output_folder_create(struct output_folder *folder, const char *file)
{
	CLEANUP(free_p) char *path = xasprintf("%s/%s", folder->path, file);
	FILE *ret;

	unfinished_add(path);
	ret = fopen(path, "wxe");
	if (!ret)
		say("%s/%s: cannot write: %m", folder->name, file);
	return ret;
}

int output_folder_close(struct output_folder *folder, FILE *file, const char *name)
{
	bool is_bad = fflush(file) || ferror(file) || fsync(fileno(file));
	long bytes = ftell(file);

	if (is_bad)
		say("%s/%s: cannot write: %m", folder->name, name);
	folder->bytes += bytes > 0 ? (uint64_t)bytes : 0;
	return fclose(file) || is_bad ? -EIO : 0;
}

/* Removes the files in the folder, then the folder, which stays if anything else is in it. */
static void remove_folder(const char *path)
{
	CLEANUP(closedir_p) DIR *folder = opendir(path);

	for (struct dirent *entry; folder && (entry = readdir(folder));)
		if (!is_dot(entry->d_name))
			unlinkat(dirfd(folder), entry->d_name, 0);
	rmdir(path);
}

int output_folder_publish(struct output_folder *folder)
{
	/* rename() replaces an empty folder; a folder with files is exchanged, then removed. */
	if (rename(folder->path, folder->name)) {
		if ((errno != ENOTEMPTY && errno != EEXIST) ||
			renameat2(
				AT_FDCWD, folder->path, AT_FDCWD, folder->name, RENAME_EXCHANGE)) {
			say("%s: cannot write: %m", folder->name);
			return -EIO;
		}
		remove_folder(folder->path);
	}
	unfinished_end(folder->path);
	free(folder->path);
	folder->path = NULL;
	return 0;
}

void output_folder_done(struct output_folder *folder)
{
	if (folder->path) {
		remove_folder(folder->path);
		unfinished_end(folder->path);
	}
	free(folder->path);
	folder->path = NULL;
}

/* SPDX-License-Identifier: MIT */
#include "tests/unit/collectord/store/damage.h"

#include <fcntl.h>
#include <glob.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void damage_put(const char *path, off_t at, const void *bytes, size_t count)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, count, at), (ssize_t)count);
	close(fd);
}

off_t damage_size(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_size : -1;
}

unsigned damage_count_aside(const struct harness *h, char *ret_first, size_t bytes)
{
	char pattern[160];
	glob_t found;
	unsigned n = 0;

	snprintf(pattern, sizeof(pattern), "%s.corrupt-*Z*", h->path);
	if (glob(pattern, 0, NULL, &found))
		return 0;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *path = found.gl_pathv[i];

		if (strstr(path, "-wal") || strstr(path, "-shm"))
			continue;
		if (!n++ && ret_first)
			snprintf(ret_first, bytes, "%s", path);
	}
	globfree(&found);
	return n;
}

void damage_scribble(const struct harness *h)
{
	char rubbish[4096];
	sqlite3 *db;

	assert_int_equal(sqlite3_open(h->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
				 "INSERT INTO rtl_meta (key, value) VALUES ('of another', 1); "
				 "PRAGMA wal_checkpoint(TRUNCATE)",
				 NULL, NULL, NULL),
		SQLITE_OK);
	sqlite3_close(db);
	memset(rubbish, 0xa5, sizeof(rubbish));
	for (off_t at = 32768; at < damage_size(h->path); at += sizeof(rubbish))
		damage_put(h->path, at, rubbish, sizeof(rubbish));
}

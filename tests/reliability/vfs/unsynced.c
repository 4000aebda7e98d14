/* SPDX-License-Identifier: MIT */
#include "tests/reliability/vfs/unsynced.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECTOR_BYTES 512u

struct change {
	struct change *previous; /* older */
	struct change *next;
	int64_t at;
	size_t bytes;	/* written; of a truncation 0 */
	int64_t cut_to; /* of a truncation; -1: a write */
	int64_t old_file_bytes;
	size_t old_bytes; /* that were there before */
	uint8_t *old;
	uint8_t data[];
};

struct unsynced {
	struct unsynced *next;
	char *path;
	int fd; /* closed with the last user: that would drop SQLite's locks */
	unsigned users;
	struct change *first, *last;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct unsynced *files;
static bool is_on;
static unsigned users_max; /* lock */

static void must(bool is_true)
{
	if (!is_true)
		abort(); /* a test without memory or disk proves nothing */
}

static void forget(struct unsynced *file)
{
	while (file->first) {
		struct change *next = file->first->next;

		free(file->first->old);
		free(file->first);
		file->first = next;
	}
	file->last = NULL;
}

/* A file of that name that is gone is not the one that is there now. */
static bool is_same(int fd, const char *path)
{
	struct stat ours, named;

	return fd >= 0 && fstat(fd, &ours) == 0 && stat(path, &named) == 0 &&
	       ours.st_ino == named.st_ino && ours.st_dev == named.st_dev;
}

static bool is_log(const char *path)
{
	size_t bytes = strlen(path);

	return bytes > 4 && !strcmp(path + bytes - 4, "-wal");
}

struct unsynced *unsynced_open(const char *path)
{
	struct unsynced *file;

	pthread_mutex_lock(&lock);
	for (file = files; file && strcmp(file->path, path) != 0; file = file->next)
		;
	if (!file) {
		file = calloc(1, sizeof(*file));
		must(file != NULL);
		file->path = strdup(path);
		must(file->path != NULL);
		file->fd = -1;
		file->next = files;
		files = file;
	}
	if (!file->users++ && !is_same(file->fd, path)) {
		if (file->fd >= 0)
			close(file->fd);
		forget(file);
		file->fd = open(path, O_RDWR | O_CLOEXEC);
		must(file->fd >= 0);
	}
	if (file->users > users_max && !is_log(path))
		users_max = file->users;
	pthread_mutex_unlock(&lock);
	return file;
}

unsigned unsynced_users_max(void)
{
	unsigned n;

	pthread_mutex_lock(&lock);
	n = users_max;
	pthread_mutex_unlock(&lock);
	return n;
}

void unsynced_close(struct unsynced *file)
{
	struct unsynced **at = &files;

	if (!file)
		return;
	pthread_mutex_lock(&lock);
	/* What was not synced stays so; but while no test watches there is nothing to remember. */
	file->users--;
	if (!file->users && !is_on) {
		while (*at != file)
			at = &(*at)->next;
		*at = file->next;
		forget(file);
		close(file->fd);
		free(file->path);
		free(file);
	}
	pthread_mutex_unlock(&lock);
}

void unsynced_watch(bool is_watched)
{
	pthread_mutex_lock(&lock);
	is_on = is_watched;
	for (struct unsynced *f = files; f && !is_on; f = f->next)
		forget(f);
	pthread_mutex_unlock(&lock);
}

/* Under the lock. */
static void remember(
	struct unsynced *file, const void *data, size_t bytes, int64_t at, int64_t cut_to)
{
	struct change *change = calloc(1, sizeof(*change) + bytes);
	int fd = file->fd;
	struct stat st;

	must(change && fd >= 0 && fstat(fd, &st) == 0);
	change->at = cut_to >= 0 ? cut_to : at;
	change->bytes = bytes;
	change->cut_to = cut_to;
	change->old_file_bytes = st.st_size;
	if (st.st_size > change->at) {
		size_t there = (size_t)(st.st_size - change->at);

		change->old_bytes = cut_to < 0 && there > bytes ? bytes : there;
		change->old = malloc(change->old_bytes);
		must(change->old && pread(fd, change->old, change->old_bytes, change->at) ==
					    (ssize_t)change->old_bytes);
	}
	if (bytes)
		memcpy(change->data, data, bytes);
	change->previous = file->last;
	if (file->last)
		file->last->next = change;
	else
		file->first = change;
	file->last = change;
}

void unsynced_write(struct unsynced *file, const void *data, size_t bytes, int64_t at)
{
	pthread_mutex_lock(&lock);
	if (is_on)
		remember(file, data, bytes, at, -1);
	pthread_mutex_unlock(&lock);
}

void unsynced_truncate(struct unsynced *file, int64_t bytes)
{
	pthread_mutex_lock(&lock);
	if (is_on)
		remember(file, NULL, 0, 0, bytes);
	pthread_mutex_unlock(&lock);
}

void unsynced_sync(struct unsynced *file)
{
	pthread_mutex_lock(&lock);
	forget(file);
	pthread_mutex_unlock(&lock);
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void lose_of(const struct unsynced *file, uint64_t *state)
{
	int fd = open(file->path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return; /* deleted: that stays */
	for (const struct change *c = file->last; c; c = c->previous) {
		must(!c->old_bytes ||
			pwrite(fd, c->old, c->old_bytes, c->at) == (ssize_t)c->old_bytes);
		must(ftruncate(fd, c->old_file_bytes) == 0);
	}
	for (const struct change *c = file->first; c; c = c->next) {
		uint64_t dice = next_random(state) % 4;
		size_t bytes = c->bytes;

		if (dice == 0)
			continue;
		if (dice == 1)
			bytes = bytes / SECTOR_BYTES / 2 * SECTOR_BYTES;
		if (c->cut_to >= 0)
			must(ftruncate(fd, c->cut_to) == 0);
		else
			must(pwrite(fd, c->data, bytes, c->at) == (ssize_t)bytes);
	}
}

void unsynced_lose(uint64_t seed)
{
	uint64_t state = seed * 2654435761u + 88172645463325252u;
	char shm[4096];

	pthread_mutex_lock(&lock);
	for (const struct unsynced *f = files; f; f = f->next) {
		lose_of(f, &state);
		snprintf(shm, sizeof(shm), "%s-shm", f->path);
		(void)unlink(shm); /* of a WAL there is none */
	}
	/* The lock stays held, since a thread that wrote now would write to a disk without
	 * power. */
}

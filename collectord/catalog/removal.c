/* SPDX-License-Identifier: MIT */
#include "collectord/catalog/removal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collectord/db/wal.h"
#include "proto/base/cleanup.h"
#include "proto/names/schema.h"

/* The bytes that SQLite locks: PENDING, RESERVED and the SHARED range. */
#define LOCK_START    0x40000000
#define LOCK_BYTES    512
/* Time limit for an empty database, which is new and small. */
#define VACANT_MS_MAX 2000
/* Offset of application_id in the header, big-endian. */
#define HEADER_ID     68

static const char aside[] = ".corrupt-";

/* Returns NAME of STORE/UID/NAME, or NULL if @database is no such path. */
static const char *name_in(const char *store, const char *database, uid_t uid)
{
	char folder[32];
	size_t bytes = strlen(store);
	int n = snprintf(folder, sizeof(folder), "/%u/", (unsigned)uid);

	if (strncmp(database, store, bytes) != 0 ||
		strncmp(database + bytes, folder, (size_t)n) != 0)
		return NULL;
	database += bytes + (size_t)n;
	return *database && *database != '.' && !strchr(database, '/') ? database : NULL;
}

/* Opens STORE/UID. Refuses a symbolic link and a directory of another owner. */
static int open_folder(const char *store, uid_t uid)
{
	const int flags = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_RDONLY;
	CLEANUP(close_p) int parent = open(store, flags);
	char name[32];
	struct stat st;
	int fd;

	if (parent < 0)
		return -errno;
	snprintf(name, sizeof(name), "%u", (unsigned)uid);
	fd = openat(parent, name, flags);
	if (fd < 0)
		return errno == ENOTDIR ? -ELOOP : -errno;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid())
		return fd;
	close(fd);
	return -EPERM;
}

static int check_file(int folder, const char *name)
{
	struct stat st;

	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode))
		return -ELOOP;
	if (!S_ISREG(st.st_mode))
		return -EMEDIUMTYPE;
	if (st.st_nlink != 1)
		return -EMLINK;
	return st.st_uid == geteuid() ? 0 : -EPERM;
}

/* True if the header is that of another program. An empty file may be the rest of one of ours. */
static bool is_foreign(int fd)
{
	unsigned char header[100];
	ssize_t n = pread(fd, header, sizeof(header), 0);
	uint32_t id;

	if (n == 0)
		return false;
	if (n < (ssize_t)sizeof(header) || memcmp(header, "SQLite format 3", 16) != 0)
		return true;
	id = (uint32_t)header[HEADER_ID] << 24 | (uint32_t)header[HEADER_ID + 1] << 16 |
	     (uint32_t)header[HEADER_ID + 2] << 8 | header[HEADER_ID + 3];
	return id && id != SCHEMA_APPLICATION_ID;
}

static bool is_read(int fd, int index)
{
	struct flock lock = {.l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = LOCK_START,
		.l_len = LOCK_BYTES};
	pid_t pid = 0;

	if (fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK)
		return true;
	return wal_readers(index, &pid) > 0;
}

int removal_check(const char *store, const char *database, uid_t uid)
{
	const char *name = name_in(store, database, uid);
	CLEANUP(close_p) int folder = name ? open_folder(store, uid) : -EPERM;
	CLEANUP(close_p) int fd = -1, index = -1;
	int r = folder < 0 ? folder : check_file(folder, name);

	if (r < 0)
		return r;
	fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	/* A file that was set aside is damaged, so its header need not identify it. */
	if (!strstr(name, aside) && is_foreign(fd))
		return -EMEDIUMTYPE;
	index = wal_open_index(database);
	return is_read(fd, index) ? -EBUSY : 0;
}

static int unlink_ours(int folder, const char *name)
{
	int r = check_file(folder, name);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return unlinkat(folder, name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

/* Tries to unlink every file even if one fails. Returns the first error. */
static int unlink_companions(int folder, const char *name)
{
	static const char *const endings[] = {"-wal", "-shm", "-journal", "-lock"};
	char path[NAME_MAX + 1];
	int first = 0;

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		int r;

		if (snprintf(path, sizeof(path), "%s%s", name, endings[i]) >= (int)sizeof(path))
			continue;
		r = unlink_ours(folder, path);
		first = first ? first : r;
	}
	return first;
}

static int unlink_aside(int folder, const char *name)
{
	size_t bytes = strlen(name);
	int fd = openat(folder, ".", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int first = 0;

	if (!list) {
		first = -errno;
		close_p(&fd);
		return first;
	}
	while ((entry = readdir(list))) {
		if (strncmp(entry->d_name, name, bytes) == 0 &&
			strncmp(entry->d_name + bytes, aside, strlen(aside)) == 0) {
			int r = unlink_ours(folder, entry->d_name);

			first = first ? first : r;
		}
	}
	closedir(list);
	return first;
}

static int unlink_all(const char *store, const char *database, uid_t uid, bool is_vacant)
{
	const char *name = name_in(store, database, uid);
	CLEANUP(close_p) int folder = name ? open_folder(store, uid) : -EPERM;
	int first, r;

	if (folder < 0)
		return folder;
	/* The database is unlinked first: without its WAL a reader would see only a part of it. */
	first = unlink_ours(folder, name);
	if (first < 0)
		return first;
	first = unlink_companions(folder, name);
	r = is_vacant ? 0 : unlink_aside(folder, name);
	first = first ? first : r;
	/* Makes the removal durable before the index records it. */
	if (fsync(folder) < 0 && !first)
		first = -errno;
	return first;
}

/*
 * Starts the process; @done is closed when it ends. It has no other descriptor of ours, because it
 * may never end.
 */
static pid_t start(const char *store, const char *database, uid_t uid, bool is_vacant, int done)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid < 0 ? -errno : pid;
	if (dup2(done, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		_exit(EIO);
	if (close_range(1, ~0u, 0) < 0) /* fails before Linux 5.9 */
		for (int fd = (int)sysconf(_SC_OPEN_MAX); fd > 0; fd--)
			close(fd);
	_exit(-unlink_all(store, database, uid, is_vacant));
}

pid_t removal_start(const char *store, const char *database, uid_t uid)
{
	CLEANUP(close_p) int done = open("/dev/null", O_RDONLY | O_CLOEXEC);

	return done < 0 ? -errno : start(store, database, uid, false, done);
}

int removal_end(pid_t removal)
{
	int status;
	pid_t ended = waitpid(removal, &status, WNOHANG);

	if (ended == 0)
		return -EAGAIN;
	return ended == removal && WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

int removal_unlink_vacant(const char *store, const char *database, uid_t uid)
{
	int done[2];
	struct pollfd ended;
	pid_t pid;
	int r;

	if (pipe2(done, O_CLOEXEC) < 0)
		return -errno;
	pid = start(store, database, uid, true, done[1]);
	close(done[1]);
	ended = (struct pollfd){.fd = done[0]};
	r = pid < 0 ? pid : poll(&ended, 1, VACANT_MS_MAX);
	close(done[0]);
	if (pid < 0)
		return r;
	if (r == 1)
		return waitpid(pid, &r, 0) == pid && WIFEXITED(r) ? -WEXITSTATUS(r) : -EINTR;
	kill(pid, SIGKILL); /* the system call that blocks may still take effect, but none after
			     * it */
	return -EBUSY;
}

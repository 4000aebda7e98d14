// SPDX-License-Identifier: MIT
/*
 * An output on a network file system, where the locks and the shared memory of SQLite do not work.
 * The collector writes a file on a local disk, and the rtl run that sees it closed copies it to its
 * place: FILE.part, fsync, rename. An empty FILE.part is there from the start: it proves that the
 * folder can be written, and shows that another rtl run has the name.
 */
#include "cli/run/collector/publish.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli/run/collector/collector.h"
#include "cli/run/collector/private_collector.h"
#include "cli/run/job/options.h"
#include "cli/run/job/why.h"
#include "cli/run/output/output.h"
#include "cli/base/command.h"
#include "cli/base/message.h"
#include "proto/base/cleanup.h"
#include "proto/base/limits.h"
#include "proto/base/network_fs.h"

#define LOCAL_FOLDER "rtl-record-XXXXXX"
#define COPY_BYTES   (1u << 20)

static void take_folder(const char *path, char ret[PATH_MAX])
{
	char *slash;

	snprintf(ret, PATH_MAX, "%s", path);
	slash = strrchr(ret, '/');
	slash[slash == ret] = '\0';
}

static int name_part(const char *path, char ret[PATH_MAX])
{
	return snprintf(ret, PATH_MAX, "%s.part", path) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static bool has_room(const char *folder)
{
	struct statvfs fs;

	return statvfs(folder, &fs) < 0 ||
	       (uint64_t)fs.f_bavail * fs.f_frsize >= STORE_RESERVE_BYTES;
}

bool run_output_is_remote(const struct run_output *output)
{
	char folder[PATH_MAX];

	if (getenv("RTL_ALLOW_NETWORK_FS"))
		return false;
	take_folder(output->path, folder);
	return network_fs_name(folder) != NULL;
}

/* Returns 0 if all of it was written, or -errno. */
static int write_all(int fd, const char *data, size_t bytes)
{
	while (bytes) {
		ssize_t n = write(fd, data, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		bytes -= (size_t)n;
	}
	return 0;
}

static int copy_data(int from, int to)
{
	CLEANUP(free_p) char *data = malloc(COPY_BYTES);
	int r = 0;

	if (!data)
		return -ENOMEM;
	while (r == 0) {
		ssize_t n = read(from, data, COPY_BYTES);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		r = write_all(to, data, (size_t)n);
	}
	return r;
}

/*
 * Copies into the file @to, which exists or is created by @flags. Returns 0 if all of it is on the
 * disk, or -errno.
 */
static int copy_file(const char *from, const char *to, int flags)
{
	CLEANUP(close_p) int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	CLEANUP(close_p) int out = -1;
	int r;

	if (in < 0)
		return -errno;
	out = open(to, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
	if (out < 0)
		return -errno;
	r = copy_data(in, out);
	if (r == 0 && fsync(out) < 0)
		r = -errno;
	/* NFS may report only now that there was no room. */
	if (close(TAKE_FD(out)) < 0 && r == 0)
		r = -errno;
	return r;
}

/*
 * Makes a private folder on a disk of this node that has room. Returns 0, or -ENOSPC if there is
 * none.
 */
static int make_local_folder(char ret[PATH_MAX])
{
	const char *const places[] = {
		getenv("TMPDIR"), "/var/tmp", "/tmp", getenv("XDG_RUNTIME_DIR")};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (!places[i] || *places[i] != '/' || network_fs_name(places[i]) ||
			!has_room(places[i]))
			continue;
		if (snprintf(ret, PATH_MAX, "%s/" LOCAL_FOLDER, places[i]) < PATH_MAX &&
			mkdtemp(ret))
			return 0;
	}
	return -ENOSPC;
}

static int reserve_name(const struct run_output *output, bool is_overwritable, char part[PATH_MAX])
{
	CLEANUP(close_p) int fd = -1;
	int r = name_part(output->path, part);

	if (r < 0)
		return r;
	fd = open(part,
		O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (is_overwritable ? 0 : O_EXCL), 0600);
	return fd < 0 ? -errno : 0;
}

int run_output_go_local(struct run_output *output, const struct run_options *options, bool is_late,
	char why[RUN_WHY_BYTES])
{
	bool is_overwritable = is_late || options->is_forced || options->is_aside;
	char folder[PATH_MAX] = "", part[PATH_MAX];
	int r = reserve_name(output, is_overwritable, part);

	if (r < 0) {
		run_why(why, "%s.part: %s", output->display,
			r == -EEXIST ? "another rtl run records for this file, or has died; use -f "
				       "to overwrite it"
				     : strerror(-r));
		return r;
	}
	r = make_local_folder(folder);
	if (r == 0 && snprintf(output->local, PATH_MAX, "%s%s", folder,
			      strrchr(output->path, '/')) >= PATH_MAX)
		r = -ENAMETOOLONG;
	if (r == 0 && is_late)
		r = copy_file(output->path, output->local, O_CREAT | O_EXCL);
	if (r == 0)
		return 0;
	run_why(why,
		"%s lies on a network file system, and no local disk takes the record meanwhile: "
		"%s; "
		"set TMPDIR to one that does",
		output->display, strerror(-r));
	(void)unlink(part);
	if (*folder)
		(void)rmdir(folder);
	output->local[0] = '\0';
	return r;
}

int run_output_check_room(
	const struct run_output *output, const struct run_options *options, char why[RUN_WHY_BYTES])
{
	char folder[PATH_MAX];

	take_folder(output->path, folder);
	if (has_room(folder))
		return 0;
	run_why(why, "%s: less than %u MiB are free on its disk, and nothing is stored below that",
		output->display, STORE_RESERVE_BYTES >> 20);
	if (options->output)
		return -ENOSPC;
	say("%s; as long as that is so the job runs unrecorded", why);
	return 0;
}

/*
 * Removes the file, the files that its collector kept beside it, and the folder that was made for
 * them.
 */
static void remove_local(const char *path)
{
	char other[PATH_MAX + 8], folder[PATH_MAX];

	take_folder(path, folder);
	snprintf(other, sizeof(other), "%s-lock", path);
	(void)unlink(path);
	(void)unlink(other);
	(void)rmdir(folder);
}

void run_output_leave_local(struct run_output *output)
{
	char part[PATH_MAX];

	if (!*output->local)
		return;
	remove_local(output->local);
	output->local[0] = '\0';
	if (name_part(output->path, part) == 0)
		(void)unlink(part);
}

static int sync_folder(const char *path)
{
	CLEANUP(close_p) int fd = -1;
	char folder[PATH_MAX];

	take_folder(path, folder);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* Not every file system supports this for a folder. */
	return fd < 0 || (fsync(fd) < 0 && errno != EINVAL && errno != EBADF && errno != ENOSYS)
		       ? -errno
		       : 0;
}

bool run_publish(struct run_collector *collector)
{
	const char *from = collector->database, *to = collector->publish;
	char part[PATH_MAX];
	int r;

	if (!*to || !*from || !strcmp(from, to))
		return true;
	r = name_part(to, part);
	if (r == 0)
		r = copy_file(from, part, O_CREAT);
	if (r == 0 && rename(part, to) < 0)
		r = -errno;
	if (r == 0)
		r = sync_folder(to);
	if (r < 0) {
		say("%s: %s; the record stays in %s", to, strerror(-r), from);
		return false;
	}
	remove_local(from);
	strcpy(collector->database, to);
	run_private_note_file(collector);
	return true;
}

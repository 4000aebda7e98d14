// SPDX-License-Identifier: MIT
#include "cli/output/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/memory.h"
#include "cli/base/message.h"
#include "cli/output/recording.h"
#include "cli/output/unfinished.h"
#include "proto/base/cleanup.h"

static bool is_stdout(const char *name)
{
	return !strcmp(name, "-");
}

static int check(const char *name, bool is_forced, bool is_document, struct stat *ret)
{
	if (is_stdout(name) || lstat(name, ret))
		return 0;
	if (S_ISDIR(ret->st_mode))
		say("%s: is a directory; name a file in it", name);
	/* For example a device, which the document would replace. */
	else if (!S_ISREG(ret->st_mode))
		say("%s: exists and is not a regular file; - is stdout", name);
	else if (is_document && is_recording(name))
		say("%s: is a recording of rtl; name another file, or remove it by rtl rm", name);
	else if (!is_forced)
		say("%s: exists; -f overwrites it", name);
	else
		return 1;
	return -EEXIST;
}

int output_file_check(const char *name, bool is_forced, struct stat *ret)
{
	return check(name, is_forced, false, ret);
}

int output_file_check_document(const char *name, bool is_forced)
{
	struct stat st;
	int r = check(name, is_forced, true, &st);

	return r < 0 ? r : 0;
}

int output_file_open(const char *name, struct output_file *ret)
{
	mode_t mask = umask(0);
	int fd, r = 0;

	umask(mask);
	*ret = (struct output_file){.name = name};
	if (is_stdout(name)) {
		ret->to = stdout;
		return 0;
	}
	ret->path = xasprintf("%s.XXXXXX", name);
	fd = unfinished_make_file(ret->path);
	if (fd < 0) {
		r = fd;
		free(ret->path);
		ret->path = NULL;
	} else if (fchmod(fd, 0666 & ~mask) || !(ret->to = fdopen(fd, "w"))) {
		r = -errno;
		close(fd);
	}
	if (r)
		say("%s: cannot write: %s", name, strerror(-r));
	return r;
}

int output_file_publish(struct output_file *output, uint64_t *ret_bytes)
{
	long bytes;

	*ret_bytes = 0;
	if (output->to == stdout)
		return 0;
	bytes = ftell(output->to);
	if (fflush(output->to) || ferror(output->to) || fsync(fileno(output->to)) ||
		rename(output->path, output->name)) {
		say("%s: cannot write: %m", output->name);
		return -EIO;
	}
	unfinished_end(output->path);
	free(output->path);
	output->path = NULL;
	*ret_bytes = bytes > 0 ? (uint64_t)bytes : 0;
	return 0;
}

void output_file_done(struct output_file *output)
{
	if (output->to && output->to != stdout)
		fclose(output->to);
	if (output->path) {
		unlink(output->path);
		unfinished_end(output->path);
	}
	free(output->path);
}

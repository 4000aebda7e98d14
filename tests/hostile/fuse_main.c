/* SPDX-License-Identifier: MIT */
/*
 * A file system of one user's that leaves requests unanswered: `hostile-fuse UID FOLDER`, as root,
 * mounts it there, then serves it as UID until it is killed. Every file of it is 1 MiB of zeros;
 * its name says what is never answered:
 *
 *   read    READ: a page of a mapping of it stays away, and a thread that touches it waits in the kernel
 *   flush   FLUSH: close() of a descriptor of it does not return
 *   fsync   FSYNC
 *   plain   nothing: all is answered
 *
 * stdout: "ready", then a line "held NAME" for each request that is left unanswered. A process that
 * waits for one cannot be killed; when this program ends, the kernel fails all of them (ENOTCONN).
 * The kernel's own protocol by hand: a library would answer what must not be answered.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILE_BYTES    (1u << 20)
#define REQUEST_BYTES (FILE_BYTES + 4096u)
#define FIRST_FILE    2u /* 1 is the folder */

static const struct file {
	const char *name;
	uint32_t silent; /* opcode; 0: none */
} files[] = {{"read", FUSE_READ}, {"flush", FUSE_FLUSH}, {"fsync", FUSE_FSYNC}, {"plain", 0}};
#define FILES (sizeof(files) / sizeof(*files))

static uid_t owner;

static void require(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "hostile-fuse: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void answer(
	int fd, const struct fuse_in_header *in, int error, const void *data, size_t bytes)
{
	struct fuse_out_header out = {
		.len = (uint32_t)(sizeof(out) + bytes), .error = error, .unique = in->unique};
	struct iovec parts[] = {{&out, sizeof(out)}, {(void *)(uintptr_t)data, bytes}};

	/* ENOENT: the caller has been interrupted, and waits no more. */
	require(writev(fd, parts, 2) >= 0 || errno == ENOENT, "an answer");
}

static struct fuse_attr attributes(uint64_t node)
{
	bool is_folder = node == FUSE_ROOT_ID;

	return (struct fuse_attr){.ino = node,
		.size = is_folder ? 0 : FILE_BYTES,
		.blocks = is_folder ? 0 : FILE_BYTES / 512,
		.mode = is_folder ? S_IFDIR | 0755 : S_IFREG | 0666,
		.nlink = 1,
		.uid = owner,
		.gid = owner,
		.blksize = 4096};
}

static void init(int fd, const struct fuse_in_header *in)
{
	const struct fuse_init_in *asked = (const void *)(in + 1);
	struct fuse_init_out out = {.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_readahead = 0,
		.max_write = 65536,
		.max_background = 64,
		.congestion_threshold = 48};

	if (asked->minor < out.minor)
		out.minor = asked->minor;
	answer(fd, in, 0, &out, sizeof(out));
}

static void lookup(int fd, const struct fuse_in_header *in)
{
	const char *name = (const char *)(in + 1);
	struct fuse_entry_out out = {.entry_valid = 3600, .attr_valid = 3600};

	for (size_t i = 0; i < FILES; i++) {
		if (strcmp(name, files[i].name) != 0)
			continue;
		out.nodeid = FIRST_FILE + i;
		out.attr = attributes(out.nodeid);
		answer(fd, in, 0, &out, sizeof(out));
		return;
	}
	answer(fd, in, -ENOENT, NULL, 0);
}

static void get_attributes(int fd, const struct fuse_in_header *in)
{
	struct fuse_attr_out out = {.attr_valid = 3600, .attr = attributes(in->nodeid)};

	answer(fd, in, 0, &out, sizeof(out));
}

static void read_zeros(int fd, const struct fuse_in_header *in)
{
	static const uint8_t zeros[FILE_BYTES];
	const struct fuse_read_in *asked = (const void *)(in + 1);
	size_t left = asked->offset < FILE_BYTES ? FILE_BYTES - asked->offset : 0;

	answer(fd, in, 0, zeros, asked->size < left ? asked->size : left);
}

static void write_nowhere(int fd, const struct fuse_in_header *in)
{
	const struct fuse_write_in *asked = (const void *)(in + 1);
	struct fuse_write_out out = {.size = asked->size};

	answer(fd, in, 0, &out, sizeof(out));
}

static bool is_silent(const struct fuse_in_header *in)
{
	size_t i = in->nodeid - FIRST_FILE;

	if (in->nodeid < FIRST_FILE || i >= FILES || files[i].silent != in->opcode)
		return false;
	printf("held %s\n", files[i].name);
	fflush(stdout);
	return true;
}

static void serve(int fd, const struct fuse_in_header *in)
{
	const struct fuse_open_out opened = {0};

	if (is_silent(in))
		return;
	switch (in->opcode) {
	case FUSE_INIT:
		init(fd, in);
		break;
	case FUSE_LOOKUP:
		lookup(fd, in);
		break;
	case FUSE_GETATTR:
	case FUSE_SETATTR:
		get_attributes(fd, in);
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		answer(fd, in, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		read_zeros(fd, in);
		break;
	case FUSE_WRITE:
		write_nowhere(fd, in);
		break;
	case FUSE_READDIR: /* an empty folder: files are found by name */
	case FUSE_FLUSH:
	case FUSE_FSYNC:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_ACCESS:
		answer(fd, in, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break; /* they want no answer */
	default:
		answer(fd, in, -ENOSYS, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	static uint8_t request[REQUEST_BYTES] __attribute__((aligned(8)));
	char options[128];
	int fd;

	require(argc == 3, "UID FOLDER");
	owner = (uid_t)strtoul(argv[1], NULL, 10);
	fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	require(fd >= 0, "/dev/fuse");
	snprintf(options, sizeof(options),
		"fd=%d,rootmode=40755,user_id=%u,group_id=%u,allow_other", fd, owner, owner);
	require(!mount("hostile", argv[2], "fuse.hostile", MS_NOSUID | MS_NODEV, options), "mount");
	require(!setresgid(owner, owner, owner) && !setresuid(owner, owner, owner), "another user");
	puts("ready");
	fflush(stdout);
	for (;;) {
		ssize_t got = read(fd, request, sizeof(request));

		if (got < 0 && (errno == EINTR || errno == ENOENT || errno == EAGAIN))
			continue;
		if (got < 0 && errno == ENODEV)
			return 0; /* unmounted */
		require(got >= (ssize_t)sizeof(struct fuse_in_header), "a request");
		serve(fd, (const void *)request);
	}
}

/* SPDX-License-Identifier: MIT */
#include "shim/send/connect.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "proto/base/abstract_address.h"
#include "proto/base/cleanup.h"
#include "proto/base/user_namespace.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"

#define SOCKET_SYSTEM	 "/run/rtl.sock"
/* In a directory, which can be mounted into a container and survives restarts of the collector. */
#define SOCKET_CONTAINER "/run/rtl/rtl.sock"
#define PASSWD		 "/etc/passwd"
/* Some 200,000 users. */
#define PASSWD_BYTES_MAX (16 << 20)

unsigned dial_paths(const char *socket, char path[DIAL_PATHS_MAX][LABEL_BYTES_MAX])
{
	if (*socket) {
		strncpy(path[0], socket, LABEL_BYTES_MAX - 1);
		return 1;
	}
	strcpy(path[0], SOCKET_SYSTEM);
	strcpy(path[1], SOCKET_CONTAINER);
	return 2;
}

/*
 * Whether @uid is that of user rtl. Reads the file itself, because the name service would load
 * libraries.
 */
static bool passwd_has(const char *path, uid_t uid)
{
	CLEANUP(close_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP(free_p) char *text = NULL;
	/* Not fstat(): its symbol is newer than the glibc that we support. */
	off_t most = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	ssize_t bytes;

	if (most <= 0 || most > PASSWD_BYTES_MAX)
		return false;
	text = malloc((size_t)most + 1);
	if (!text)
		return false;
	bytes = pread(fd, text, (size_t)most, 0);
	if (bytes <= 0)
		return false;
	text[bytes] = '\0';
	for (char *line = text; line; line = strchr(line, '\n')) {
		char *field;

		line += *line == '\n';
		if (strncmp(line, "rtl:", 4))
			continue;
		field = strchr(line + 4, ':');
		return field && strtoul(field + 1, NULL, 10) == uid;
	}
	return false;
}

bool dial_trusts(uid_t uid, const char *passwd)
{
	return uid == 0 || uid == geteuid() || uid == getuid() || passwd_has(passwd, uid);
}

/* Returns a socket connected to a peer that we trust, or -errno. @address was made from @path. */
static int address_connect(
	const struct sockaddr_un *address, socklen_t address_bytes, const char *path, bool is_kept)
{
	CLEANUP(close_p) int fd = -1;
	struct ucred peer;
	socklen_t bytes = sizeof(peer);

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	fd = is_kept ? fd_keep(fd) : fd_move(fd);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)address, address_bytes))
		return -errno;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes))
		return -errno;
	if (!dial_trusts(peer.uid, PASSWD) && !namespace_is_from_outside(path, peer.uid))
		return -EKEYREJECTED;
	return TAKE_FD(fd);
}

static int path_connect(const char *path, bool is_kept)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, path);
	return address_connect(&address, sizeof(address), path, is_kept);
}

/*
 * The job's private collector is in a directory that this process may not enter, because it is of
 * another user than rtl run. If that collector runs as root, it accepts us; otherwise it counts the
 * attempt.
 */
static int abstract_connect(const char *path, bool is_kept, int error)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t name = abstract_address(path, address.sun_path, sizeof(address.sun_path));
	socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + name);
	int fd = name ? address_connect(&address, bytes, path, is_kept) : error;

	return fd >= 0 ? fd : error;
}

int dial(char path[DIAL_PATHS_MAX][LABEL_BYTES_MAX], unsigned paths, bool is_kept, unsigned *ret_at)
{
	int fd = -ENOENT;

	for (*ret_at = 0; *ret_at < paths; ++*ret_at) {
		fd = path_connect(path[*ret_at], is_kept);
		if (fd == -EACCES)
			fd = abstract_connect(path[*ret_at], is_kept, fd);
		if (fd != -ENOENT)
			break;
	}
	return fd;
}

void dial_tell(const char *socket, const uint8_t *hello, size_t hello_bytes)
{
	char path[DIAL_PATHS_MAX][LABEL_BYTES_MAX] = {0};
	unsigned at, paths = dial_paths(socket, path);
	int fd = dial(path, paths, false, &at);

	if (fd < 0)
		return;
	/* The buffer of a new socket has room for it. */
	if (send(fd, hello, hello_bytes, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)hello_bytes)
		slog_debug(1, "told the collector at %s that nothing is recorded", path[at]);
	close(fd);
}

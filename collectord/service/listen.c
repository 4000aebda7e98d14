/* SPDX-License-Identifier: MIT */
#include "collectord/service/listen.h"

#include "collectord/service/container.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "proto/base/cleanup.h"
#include "proto/base/abstract_address.h"
#include "proto/base/clock.h"
#include "proto/base/limits.h"
#include "proto/base/format.h"

#define LISTEN_FDS_START  3
/* The processes of a service end together with its main process, but not at the same moment. */
#define ENDING_NS	  2000000000ull
#define PROBE_INTERVAL_MS 10

static bool is_listening_stream(int fd)
{
	struct sockaddr_storage address;
	socklen_t bytes = sizeof(address);
	int type = 0;
	int is_listening = 0;
	socklen_t option_bytes = sizeof(int);

	if (getsockname(fd, (struct sockaddr *)&address, &bytes) < 0 ||
		address.ss_family != AF_UNIX)
		return false;
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &option_bytes) < 0 || type != SOCK_STREAM)
		return false;
	option_bytes = sizeof(int);
	return !getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &option_bytes) &&
	       is_listening;
}

static char *socket_path_of(int fd)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	socklen_t bytes = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &bytes) < 0 ||
		bytes <= offsetof(struct sockaddr_un, sun_path) || !address.sun_path[0])
		return strdup("(unnamed socket)");
	return strndup(address.sun_path, bytes - offsetof(struct sockaddr_un, sun_path));
}

/*
 * Finds the file at the address of @fd. Returns 0, -ENOENT if there is none, or another error if it
 * cannot be seen from here.
 */
static int find_place(int fd, struct listen_place *ret)
{
	CLEANUP(free_p) char *path = socket_path_of(fd);
	struct stat st;

	if (!path)
		return -ENOMEM;
	if (path[0] != '/')
		return -EINVAL; /* relative to the directory of the process that bound it */
	if (lstat(path, &st) < 0)
		return errno == ENOTDIR ? -ENOENT : -errno;
	*ret = (struct listen_place){.is_known = true, .device = st.st_dev, .inode = st.st_ino};
	return 0;
}

static void add(struct listen_sockets *sockets, int fd)
{
	struct listen_place *place = &sockets->places[sockets->count];

	place->is_missing = find_place(fd, place) == -ENOENT; /* on other errors it stays unknown */
	sockets->fds[sockets->count++] = fd;
}

bool listen_is_reachable(const struct listen_sockets *sockets)
{
	for (size_t i = 0; i < sockets->count; i++) {
		const struct listen_place *then = &sockets->places[i];
		struct listen_place now = {0};
		int r = then->is_known ? find_place(sockets->fds[i], &now) : -ENODATA;

		if (r == -ENOENT ||
			(r == 0 && (now.device != then->device || now.inode != then->inode)))
			return false;
	}
	return true;
}

/* LISTEN_PID prevents a child of the intended process from taking the sockets. */
static unsigned long passed_count(void)
{
	const char *pid = getenv("LISTEN_PID");
	const char *count = getenv("LISTEN_FDS");
	unsigned long n;

	if (!count || (pid && strtoul(pid, NULL, 10) != (unsigned long)getpid()))
		return 0;
	n = strtoul(count, NULL, 10);
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	return n;
}

/* Takes ownership of @fd in every case. */
static int take_kept(struct listen_sockets *sockets, int fd, const char *name)
{
	struct listen_kept *more =
		reallocarray(sockets->kept, sockets->n_kept + 1, sizeof(*sockets->kept));
	char *copy = strdup(name);

	if (more)
		sockets->kept = more;
	if (!more || !copy || sockets->n_kept == KEPT_RECORDERS_MAX) {
		free(copy);
		close(fd);
		return sockets->n_kept == KEPT_RECORDERS_MAX ? -E2BIG : -ENOMEM;
	}
	sockets->kept[sockets->n_kept++] = (struct listen_kept){.fd = fd, .name = copy};
	return 0;
}

static int take_socket(struct listen_sockets *sockets, int fd)
{
	if (sockets->count == LISTEN_SOCKETS_MAX)
		return -E2BIG;
	if (!is_listening_stream(fd) || fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		return -EINVAL;
	add(sockets, fd);
	return 0;
}

#define TENANT_DIGITS 6

void listen_kept_outer(uid_t tenant, const char *name, char ret[KEPT_OUTER_BYTES])
{
	static const char digit[] = "0123456789abcdefghijklmnopqrstuv";
	char digits[TENANT_DIGITS + 1] = "";
	uint32_t left = tenant - CONTAINER_TENANT_MIN;

	if (!container_is_tenant(tenant)) {
		snprintf(ret, KEPT_OUTER_BYTES, "%s", name);
		return;
	}
	for (int i = TENANT_DIGITS - 1; i >= 0; i--, left /= 32)
		digits[i] = digit[left % 32];
	snprintf(ret, KEPT_OUTER_BYTES, KEPT_CONTAINER_PREFIX "%s-%s", digits,
		name + sizeof(KEPT_PREFIX) - 1);
}

bool listen_kept_inner(const char *outer, uid_t *ret_tenant, char ret[KEPT_OUTER_BYTES])
{
	const size_t prefix = sizeof(KEPT_CONTAINER_PREFIX) - 1;
	char digits[TENANT_DIGITS + 1] = "", *end;
	unsigned long tenant;

	if (strncmp(outer, KEPT_CONTAINER_PREFIX, prefix) != 0 ||
		strnlen(outer, KEPT_OUTER_BYTES) <= prefix + TENANT_DIGITS ||
		outer[prefix + TENANT_DIGITS] != '-')
		return false;
	memcpy(digits, outer + prefix, TENANT_DIGITS);
	tenant = strtoul(digits, &end, 32);
	if (*end || tenant > CONTAINER_TENANT_MAX - CONTAINER_TENANT_MIN)
		return false;
	*ret_tenant = (uid_t)(CONTAINER_TENANT_MIN + tenant);
	snprintf(ret, KEPT_OUTER_BYTES, KEPT_PREFIX "%s", outer + prefix + TENANT_DIGITS + 1);
	return true;
}

static bool is_kept(const char *name)
{
	char inner[KEPT_OUTER_BYTES];
	uid_t tenant;

	return !strncmp(name, KEPT_PREFIX, sizeof(KEPT_PREFIX) - 1) ||
	       listen_kept_inner(name, &tenant, inner);
}

/* @names is LISTEN_FDNAMES, separated by colons. Without it every descriptor is a socket. */
static int take_named(struct listen_sockets *sockets, unsigned long n, char *names)
{
	int r = 0;

	for (unsigned long i = 0; r == 0 && i < n; i++) {
		int fd = LISTEN_FDS_START + (int)i;
		const char *name = names ? strsep(&names, ":") : NULL;

		if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
			r = -EINVAL;
		else if (name && is_kept(name))
			r = take_kept(sockets, fd, name);
		else
			r = take_socket(sockets, fd);
	}
	return r;
}

int listen_take_passed(struct listen_sockets *sockets)
{
	unsigned long n = passed_count();
	const char *given = getenv("LISTEN_FDNAMES");
	CLEANUP(free_p) char *names = given ? strdup(given) : NULL;
	int r;

	*sockets = (struct listen_sockets){.lock.fd = -1};
	unsetenv("LISTEN_FDNAMES");
	if (!n)
		return 0;
	if (given && !names)
		return -ENOMEM;
	r = take_named(sockets, n, names);
	if (r < 0)
		return r;
	if (!sockets->count)
		return 0;
	sockets->is_passed = true;
	sockets->path = socket_path_of(sockets->fds[0]);
	return sockets->path ? 1 : -ENOMEM;
}

/* Takes the lock that makes probe, unlink and bind one step among collectors. */
static int take_lock(const char *path, struct claim *ret, pid_t *ret_pid)
{
	CLEANUP(free_p) char *lock_path = format_new("%s.lock", path);

	if (!lock_path)
		return -ENOMEM;
	return claim_take(lock_path, ret, ret_pid);
}

static int make_address(const char *path, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(ret->sun_path))
		return -ENAMETOOLONG;
	memcpy(ret->sun_path, path, strlen(path));
	return 0;
}

/* Returns 1 if a process listens at @address, 0 if none does, or -errno. */
static int probe(const struct sockaddr_un *address, pid_t *ret_pid)
{
	CLEANUP(close_p) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct ucred peer;
	socklen_t bytes = sizeof(peer);

	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0) {
		if (errno == ECONNREFUSED || errno == ENOENT)
			return 0;
		/* A full backlog means a live server, too. */
		return errno == EAGAIN ? 1 : -errno;
	}
	if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes))
		*ret_pid = peer.pid;
	return 1;
}

/*
 * True if the process that made the socket has ended. Only an acceptor of it still listens, and it
 * is about to end.
 */
static bool has_creator_ended(pid_t pid)
{
	return pid > 0 && kill(pid, 0) < 0 && errno == ESRCH;
}

static int probe_until_ended(const struct sockaddr_un *address, pid_t *ret_pid)
{
	const uint64_t until_ns = clock_monotonic_ns() + ENDING_NS;
	int r;

	while ((r = probe(address, ret_pid)) == 1 && has_creator_ended(*ret_pid) &&
		clock_monotonic_ns() < until_ns)
		(void)poll(NULL, 0, PROBE_INTERVAL_MS);
	return r;
}

static int clear_path(const char *path, const struct sockaddr_un *address, pid_t *ret_pid)
{
	struct stat st;
	int r;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	r = probe_until_ended(address, ret_pid);
	if (r < 0)
		return r;
	if (r)
		return -EADDRINUSE;
	if (st.st_uid != geteuid())
		return -EEXIST;
	return unlink(path) < 0 ? -errno : 0;
}

/* Returns -ENOTUNIQ if other users may rename files in @parent: they could replace our socket. */
static int check_parent(const char *parent, bool is_private)
{
	const mode_t writable = is_private ? S_IWOTH : S_IWGRP | S_IWOTH;
	struct stat st;

	if (stat(parent, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return -ENOTUNIQ;
	return (st.st_mode & writable) && !(st.st_mode & S_ISVTX) ? -ENOTUNIQ : 0;
}

/* Makes the directory of a user's socket if it is missing, accessible to that user alone. */
static int make_parent(const char *path, bool is_private)
{
	CLEANUP(free_p) char *parent = strdup(path);
	char *slash;

	if (!parent)
		return -ENOMEM;
	slash = strrchr(parent, '/');
	if (slash)
		slash[slash == parent] = '\0';
	if (slash && mkdir(parent, geteuid() == 0 ? 0755 : 0700) < 0 && errno != EEXIST)
		return -errno;
	return check_parent(slash ? parent : ".", is_private);
}

int listen_bind(struct listen_sockets *sockets, const char *path, bool is_private, pid_t *ret_pid)
{
	CLEANUP(claim_release) struct claim lock = {.fd = -1};
	CLEANUP(close_p) int fd = -1;
	struct sockaddr_un address;
	struct stat st;
	int r = make_address(path, &address);

	*sockets = (struct listen_sockets){.lock.fd = -1};
	*ret_pid = 0;
	if (r < 0)
		return r;
	r = make_parent(path, is_private);
	if (r < 0)
		return r;
	r = take_lock(path, &lock, ret_pid);
	if (r < 0)
		return r;
	r = clear_path(path, &address, ret_pid);
	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	if (chmod(path, is_private ? 0600 : 0666) < 0 || lstat(path, &st) < 0 ||
		listen(fd, LISTEN_BACKLOG) < 0)
		return -errno;
	sockets->path = strdup(path);
	if (!sockets->path)
		return -ENOMEM;
	sockets->places[0] =
		(struct listen_place){.is_known = true, .device = st.st_dev, .inode = st.st_ino};
	sockets->fds[sockets->count++] = TAKE_FD(fd);
	sockets->lock = lock;
	lock.fd = -1;
	return 0;
}

void listen_add_abstract(struct listen_sockets *sockets, const char *path)
{
	CLEANUP(close_p) int fd = -1;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t name = abstract_address(path, address.sun_path, sizeof(address.sun_path));
	socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + name);

	if (!name || sockets->count == LISTEN_SOCKETS_MAX)
		return;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, bytes) < 0 ||
		listen(fd, LISTEN_BACKLOG) < 0)
		return;
	sockets->places[sockets->count] = (struct listen_place){0};
	sockets->fds[sockets->count++] = TAKE_FD(fd);
}

int listen_accept(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), on = 1;

	if (fd >= 0) /* before Linux 5.15 there are no urgent bytes on these sockets */
		(void)setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on));
	return fd;
}

void listen_done(struct listen_sockets *sockets)
{
	struct stat st;

	if (sockets->count && !sockets->is_passed && !lstat(sockets->path, &st) &&
		st.st_dev == sockets->places[0].device && st.st_ino == sockets->places[0].inode)
		(void)unlink(sockets->path); /* without root it may stay, as a dead socket */
	for (size_t i = 0; i < sockets->count; i++)
		close(sockets->fds[i]);
	claim_release(&sockets->lock);
	for (size_t i = 0; i < sockets->n_kept; i++) {
		close_p(&sockets->kept[i].fd);
		free(sockets->kept[i].name);
	}
	free(sockets->kept);
	free(sockets->path);
	*sockets = (struct listen_sockets){.lock.fd = -1};
}

/* SPDX-License-Identifier: MIT */
#include "collectord/service/container.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/base/cleanup.h"
#include "proto/base/fault.h"
#include "proto/base/format.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* Longer than the files of a process in any container. */
#define TEXT_BYTES 8192u
#define ID_BYTES   64u
#define OWNER_FILE ".container"

/* Copies @n bytes that may stand in an id; '_' is what systemd writes for '-'. */
static bool copy_id(const char *id, size_t n, char ret[CONTAINER_NAME_BYTES])
{
	if (n < 8 || n > ID_BYTES)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!isalnum((unsigned char)id[i]) && id[i] != '-' && id[i] != '_')
			return false;
		ret[i] = id[i] == '_' ? '-' : id[i];
	}
	ret[n] = '\0';
	return true;
}

/* Takes the next component of *@path; its length is *@ret_n. Returns NULL at the end. */
static const char *next_component(const char **path, size_t *ret_n)
{
	const char *begin = *path + strspn(*path, "/");

	*ret_n = strcspn(begin, "/\n");
	*path = begin + *ret_n;
	return *ret_n ? begin : NULL;
}

static bool is_text(const char *at, size_t n, const char *text)
{
	return n == strlen(text) && !memcmp(at, text, n);
}

/* /kubepods/burstable/podUID, or /kubepods.slice/kubepods-burstable.slice/kubepods-...-podUID.slice
 */
static bool find_pod(const char *path, char ret[CONTAINER_NAME_BYTES])
{
	static const char suffix[] = ".slice";
	const char *at;
	size_t n;

	for (unsigned depth = 0; depth < 2 && (at = next_component(&path, &n)); depth++) {
		const char *pod = memmem(at, n, "-pod", 4);

		if (n > 3 && !memcmp(at, "pod", 3))
			return copy_id(at + 3, n - 3, ret);
		if (pod && n > sizeof(suffix) &&
			!memcmp(at + n - (sizeof(suffix) - 1), suffix, sizeof(suffix) - 1))
			return copy_id(
				pod + 4, (size_t)(at + n - (sizeof(suffix) - 1) - pod - 4), ret);
	}
	return false;
}

/* /system.slice/docker-ID.scope and the like. */
static bool find_scope(const char *path, char ret[CONTAINER_NAME_BYTES])
{
	static const char *const engines[] = {"docker-", "crio-", "cri-containerd-", "libpod-"};
	static const char suffix[] = ".scope";
	size_t n, bytes;
	const char *at = next_component(&path, &n);

	if (!at || n <= sizeof(suffix) ||
		memcmp(at + n - (sizeof(suffix) - 1), suffix, sizeof(suffix) - 1) != 0)
		return false;
	for (size_t i = 0; i < sizeof(engines) / sizeof(*engines); i++) {
		bytes = strlen(engines[i]);
		if (n > bytes + sizeof(suffix) && !memcmp(at, engines[i], bytes))
			return copy_id(at + bytes, n - bytes - (sizeof(suffix) - 1), ret);
	}
	return false;
}

static bool begins(const char *at, size_t n, const char *prefix)
{
	return n >= strlen(prefix) && !memcmp(at, prefix, strlen(prefix));
}

/* A pod of a path that begins in a cgroup of the kubelet, whose own name is not in it. */
static bool find_pod_beside(const char *path, char ret[CONTAINER_NAME_BYTES])
{
	const char *rest = path;
	size_t n;
	const char *top = next_component(&rest, &n);

	return top &&
	       (begins(top, n, "kubepods-") || begins(top, n, "pod") ||
		       is_text(top, n, "burstable") || is_text(top, n, "besteffort")) &&
	       find_pod(path, ret);
}

/* A container whose engine makes cgroups itself, or that systemd makes one for. */
static bool find_container_beside(const char *path, char ret[CONTAINER_NAME_BYTES])
{
	const char *rest = path;
	size_t n;
	const char *top = next_component(&rest, &n);

	if (top && n == ID_BYTES && strspn(top, "0123456789abcdef") == ID_BYTES)
		return copy_id(top, n, ret);
	return find_scope(path, ret);
}

/*
 * In a cgroup namespace, as of a service that runs in a pod, a path begins with ".." for each level
 * that it leads up from the root of the namespace. Returns true if there are some.
 */
static bool skip_parents(const char **path)
{
	const char *at = *path, *component;
	bool is_any = false;
	size_t n;

	while ((component = next_component(&at, &n)) && is_text(component, n, "..")) {
		is_any = true;
		*path = at;
	}
	return is_any;
}

static bool parse_path(const char *path, char ret[CONTAINER_NAME_BYTES])
{
	bool is_beside = skip_parents(&path);
	const char *all = path, *top;
	size_t n;

	/* What lies in a cgroup above that of the service is root's, and is named by root. */
	if (is_beside && (find_pod_beside(all, ret) || find_container_beside(all, ret)))
		return true;
	top = next_component(&path, &n);
	if (!top)
		return false;
	if (is_text(top, n, "kubepods") || is_text(top, n, "kubepods.slice"))
		return find_pod(path, ret);
	if (is_text(top, n, "docker")) {
		top = next_component(&path, &n);
		return top && copy_id(top, n, ret);
	}
	return (is_text(top, n, "system.slice") || is_text(top, n, "machine.slice")) &&
	       find_scope(path, ret);
}

bool container_parse(const char *cgroup, char ret[CONTAINER_NAME_BYTES])
{
	/* Each line is "number:controllers:path". */
	for (const char *line = cgroup; *line; line += *line == '\n') {
		const char *path = strchr(line, ':');
		size_t n = strcspn(line, "\n");

		path = path && path < line + n
			       ? memchr(path + 1, ':', (size_t)(line + n - path - 1))
			       : NULL;
		if (path && parse_path(path + 1, ret))
			return true;
		line += n;
	}
	return false;
}

/* Returns false if the file cannot be read, or is too long. */
static bool read_file(const char *pid, const char *name, char ret[TEXT_BYTES])
{
	CLEANUP(close_p) int fd = -1;
	char path[64];
	size_t n = 0;
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && n < TEXT_BYTES && (got = read(fd, ret + n, TEXT_BYTES - n)) > 0)
		n += (size_t)got;
	if (!n || n == TEXT_BYTES)
		return false;
	ret[n] = '\0';
	return true;
}

/* In a node that is itself a container all processes have its name, which tells nothing. */
static bool is_own(const char *name)
{
	char cgroup[TEXT_BYTES], own[CONTAINER_NAME_BYTES];

	return read_file("self", "cgroup", cgroup) && container_parse(cgroup, own) &&
	       strcmp(own, name) == 0;
}

/*
 * Tells whether the process has a pid in a namespace below ours. What the kernel says of a pidfd
 * takes it microseconds; /proc/PID/status, which is read where there is none, lists all groups of
 * the process before that, and 65,536 take it 4 ms, in which no other peer is accepted. Returns
 * false if it cannot be read.
 */
static bool read_namespace(const char *pid, int pidfd, bool *ret_is_below)
{
	static const char key[] = "\nNSpid:";
	CLEANUP(close_p) int fd = -1;
	char path[64], text[TEXT_BYTES];
	const char *line, *end;
	size_t n = 0;
	ssize_t got;

	if (pidfd >= 0)
		snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	else
		snprintf(path, sizeof(path), "/proc/%s/status", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && (got = read(fd, text + n, sizeof(text) - n)) > 0) {
		n += (size_t)got;
		line = memmem(text, n, key, sizeof(key) - 1);
		end = line ? memchr(line + 1, '\n', n - (size_t)(line + 1 - text)) : NULL;
		if (end) {
			/* There is a tab before each number. */
			line = memchr(line, '\t', (size_t)(end - line));
			*ret_is_below = line && memchr(line + 1, '\t', (size_t)(end - line - 1));
			return true;
		}
		if (n <= sizeof(text) / 2)
			continue;
		/* The line is much shorter than what is kept. */
		memmove(text, text + n - sizeof(text) / 4, sizeof(text) / 4);
		n = sizeof(text) / 4;
	}
	return false;
}

struct container container_of_peer(int fd)
{
	struct container ret = {.is_known = false};
	struct ucred ucred = {0};
	socklen_t bytes = sizeof(ucred);
	CLEANUP(close_p) int pidfd = -1;
	struct pollfd death = {.events = POLLIN};
	char cgroup[TEXT_BYTES], pid[16];

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &ucred, &bytes) < 0 || !ucred.pid)
		return ret;
	bytes = sizeof(pidfd);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &bytes) < 0) {
		pidfd = -1;
		if (errno != ENOPROTOOPT)
			return ret; /* it is gone; before Linux 6.5 the pid has to do */
	}
	snprintf(pid, sizeof(pid), "%d", (int)ucred.pid);
	if (!read_file(pid, "cgroup", cgroup) ||
		!read_namespace(pid, pidfd, &ret.is_in_pid_namespace))
		return ret;
	death.fd = pidfd;
	if (pidfd >= 0 && poll(&death, 1, 0) != 0)
		return ret; /* the pid may have been that of another process */
	ret.is_known = true;
	if (!container_parse(cgroup, ret.name) || is_own(ret.name))
		ret.name[0] = '\0';
	return ret;
}

uid_t container_tenant(const char *name)
{
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	hash ^= hash >> 15;
	return CONTAINER_TENANT_MIN + hash % (CONTAINER_TENANT_MAX - CONTAINER_TENANT_MIN + 1);
}

const char *container_words(uid_t tenant, const char *name, char ret[CONTAINER_WORDS_BYTES])
{
	if (!container_is_tenant(tenant))
		snprintf(ret, CONTAINER_WORDS_BYTES, "uid %u", (unsigned)tenant);
	else if (name[0])
		snprintf(ret, CONTAINER_WORDS_BYTES, "container %s (%u)", name, (unsigned)tenant);
	else
		snprintf(ret, CONTAINER_WORDS_BYTES, "container %u", (unsigned)tenant);
	return ret;
}

/* Returns a descriptor, or -errno. */
static int open_owner(const char *folder, int flags)
{
	CLEANUP(free_p) char *path = format_new("%s/" OWNER_FILE, folder);
	int fd;

	if (!path)
		return -ENOMEM;
	fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd < 0 ? -errno : fd;
}

void container_owner(const char *folder, char ret[CONTAINER_NAME_BYTES])
{
	CLEANUP(close_p) int fd = open_owner(folder, O_RDONLY);
	ssize_t n = fd < 0 ? 0 : read(fd, ret, CONTAINER_NAME_BYTES - 1);

	ret[n > 0 ? n : 0] = '\0';
}

static bool is_number(const char *name)
{
	return *name && !name[strspn(name, "0123456789")];
}

/* Removes the folders of uids. -ENOTEMPTY: one has a file, or something else lies beside them. */
static int vacate_uids(int folder)
{
	int fd = openat(folder, ".", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int r = 0;

	if (!list) {
		r = -errno;
		close_p(&fd);
		return r;
	}
	while (r == 0 && (entry = readdir(list))) {
		const char *name = entry->d_name;

		if (!strcmp(name, ".") || !strcmp(name, "..") || !strcmp(name, OWNER_FILE))
			continue;
		if (!is_number(name))
			r = -ENOTEMPTY;
		else if (unlinkat(folder, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
			r = -errno;
	}
	closedir(list);
	return r;
}

int container_vacate(const char *folder)
{
	CLEANUP(close_p) int fd = open(folder, O_DIRECTORY | O_NOFOLLOW | O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno : vacate_uids(fd);

	if (r < 0)
		return r;
	FAULT_POINT("container_uids_removed");
	if (unlinkat(fd, OWNER_FILE, 0) < 0 && errno != ENOENT)
		return -errno;
	FAULT_POINT("container_unnamed");
	return rmdir(folder) < 0 ? -errno : 0;
}

int container_claim(const char *folder, const char *name)
{
	CLEANUP(close_p) int fd = open_owner(folder, O_RDWR | O_CREAT);
	char text[CONTAINER_NAME_BYTES] = "";
	ssize_t n = (ssize_t)strlen(name);

	if (fd < 0)
		return fd;
	if (read(fd, text, sizeof(text) - 1) == 0 && pwrite(fd, name, (size_t)n, 0) == n)
		return 0;
	return strcmp(text, name) == 0 ? 0 : -EPERM;
}

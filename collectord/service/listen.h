/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The listening sockets: passed by the service manager or rtl run (LISTEN_FDS), else bound
 * here. Loop thread, before privileges are dropped. Never removes what is not a dead socket
 * of ours.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "collectord/service/lock_file.h"

#define LISTEN_SOCKETS_MAX 8u
/* Begins the name under which a recorder is kept beyond the life of a collector; fd_store.h. */
#define KEPT_PREFIX	   "recorder-"

/* A recorder that an earlier life of the collector gave away to be kept (notify_keep). */
struct listen_kept {
	int fd;
	char *name;
};

/* Where a socket lay when we began to listen, as far as that is to be seen from here. */
struct listen_place {
	bool is_known;
	bool is_missing; /* it was taken away before */
	dev_t device;
	ino_t inode;
};

struct listen_sockets {
	int fds[LISTEN_SOCKETS_MAX];
	struct listen_place places[LISTEN_SOCKETS_MAX];
	size_t count;
	bool is_passed;
	struct claim lock; /* <path>.lock, for our lifetime; none: sockets were passed */
	char *path;	   /* of the first socket; for people */
	struct listen_kept *kept;
	size_t n_kept; /* at most KEPT_RECORDERS_MAX */
};

/*
 * Sockets of LISTEN_FDS when there are any: 1; 0: none were passed. What LISTEN_FDNAMES calls by a
 * name of notify_keep() goes to @kept. -EINVAL: what else was passed is no listening stream socket
 * of the Unix domain; -E2BIG; -ENOMEM.
 */
int listen_take_passed(struct listen_sockets *sockets);

/*
 * Bind and listen at @path. -EADDRINUSE: a live server is there, *ret_pid is its pid (0: not
 * known); -EEXIST: what lies there is not a dead socket of ours; -ENOLCK: nor is <path>.lock a lock
 * of ours; -ENOTUNIQ: others may rename what lies in its folder; -EACCES, -EROFS, ...: as bind.
 */
int listen_bind(struct listen_sockets *sockets, const char *path, bool is_private, pid_t *ret_pid);

/*
 * Beside the socket at @path, whose folder is closed to others: the abstract address (unix(7)) of that name,
 * by which processes of a job that have another uid find its collector. A name that is taken, or too long, is
 * no error: then they do not.
 */
void listen_add_abstract(struct listen_sockets *sockets, const char *path);

/* Whether who comes now finds all of them: none was removed, nor has another one in its place. */
bool listen_is_reachable(const struct listen_sockets *sockets);

/* Close; remove the socket if it is still the one we bound and we may. */
void listen_done(struct listen_sockets *sockets);

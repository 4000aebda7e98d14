/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The listening sockets: passed by the service manager or rtl run (LISTEN_FDS), or bound here. Loop
 * thread, before privileges are dropped. Never removes a file that is not a dead socket of ours.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "collectord/service/lock_file.h"

#define LISTEN_SOCKETS_MAX 8u
/* Prefix of the name under which a recorder is kept beyond the life of a collector; fd_store.h. */
#define KEPT_PREFIX	   "recorder-"
/*
 * So the names of a container's recorders begin outside its worker, followed by six digits of its
 * tenant number: no longer than the other ones.
 */
#define KEPT_CONTAINER_PREFIX "k_"

/* A recorder that an earlier collector passed to its keeper (notify_keep). */
struct listen_kept {
	int fd;
	char *name;
};

/* The file of a socket when we began to listen, if it could be seen from here. */
struct listen_place {
	bool is_known;
	bool is_missing; /* the file was removed before */
	dev_t device;
	ino_t inode;
};

struct listen_sockets {
	int fds[LISTEN_SOCKETS_MAX];
	struct listen_place places[LISTEN_SOCKETS_MAX];
	size_t count;
	bool is_passed;
	struct claim lock; /* <path>.lock, held as long as we run; not held if the sockets were
			    * passed */
	char *path;	   /* of the first socket; for messages */
	struct listen_kept *kept;
	size_t n_kept; /* at most KEPT_RECORDERS_MAX */
};

/*
 * Takes the sockets of LISTEN_FDS. Returns 1 if there are any, 0 if none were passed. Descriptors
 * whose LISTEN_FDNAMES entry is a name of notify_keep() go to @kept. -EINVAL: another descriptor is
 * not a listening Unix stream socket; -E2BIG; -ENOMEM.
 */
int listen_take_passed(struct listen_sockets *sockets);

#define KEPT_OUTER_BYTES 128u
/* The name of a recorder outside the worker of @tenant, where it is @name. */
void listen_kept_outer(uid_t tenant, const char *name, char ret[KEPT_OUTER_BYTES]);
/* The reverse. Returns false if @outer is not of a container. */
bool listen_kept_inner(const char *outer, uid_t *ret_tenant, char ret[KEPT_OUTER_BYTES]);

/*
 * Binds and listens at @path. -EADDRINUSE: a live server listens there, with pid *ret_pid (0:
 * unknown); -EEXIST: the file there is not a dead socket of ours; -ENOLCK: <path>.lock is not a
 * lock file of ours; -ENOTUNIQ: other users may rename files in its directory; -EACCES, -EROFS,
 * ...: as bind().
 */
int listen_bind(struct listen_sockets *sockets, const char *path, bool is_private, pid_t *ret_pid);

/*
 * Also listens at the abstract address (unix(7)) derived from @path, whose directory is closed to
 * other users: processes of the job that have another uid find the collector there. If the name is
 * in use or too long, the address is silently left out.
 */
void listen_add_abstract(struct listen_sockets *sockets, const char *path);

/*
 * As accept(), without blocking. An urgent byte (MSG_OOB) of the peer stays in line with the other
 * bytes, because the kernel would close the descriptors that came with it when it is passed over.
 */
int listen_accept(int listener);

/* True if a process that connects now reaches all sockets: none was removed or replaced. */
bool listen_is_reachable(const struct listen_sockets *sockets);

/* Closes the sockets; removes the file if it is still the one that we bound and we may. */
void listen_done(struct listen_sockets *sockets);

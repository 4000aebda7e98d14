/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Decides what a peer may see, from the credentials that the kernel reports. The owner of a
 * session, and outside of containers root and members of the service's group, see the session;
 * every peer sees the totals of the node. For any other peer the session does not exist: each
 * answer is the same as for a name that was never used. Loop thread.
 */
#include <stdbool.h>
#include <sys/types.h>

struct peer;
struct server;
struct session;

/* The reason to refuse a peer whose pid reads as 0: the collector cannot watch such a process. */
extern const char access_no_pid[];

/* Returns NULL if the kernel identifies @peer, else the reason why it cannot. */
const char *access_check_identity(const struct server *server, const struct peer *peer);

/* True if @peer may see and control what belongs to @uid. */
bool access_may_see(const struct server *server, struct peer *peer, uid_t uid);

/* The uid whose sessions @peer may flush: its own, or STORE_EVERYBODY if it may see all. */
uid_t access_uid(const struct server *server, struct peer *peer);

/* True if @peer may see @session and @name is the name of the session or of its job. */
bool access_is_named(const struct server *server, struct peer *peer, const struct session *session,
	const char *name);

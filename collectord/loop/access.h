/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Who may see what: by the kernel's word alone. Owner, root and the service's group see a session;
 * everybody sees what the node does as a whole. To whom it is not shown a session does not exist:
 * every answer is that of a name nobody ever had. Loop thread.
 */
#include <stdbool.h>
#include <sys/types.h>

struct peer;
struct server;
struct session;

/* Of a peer whose pid is 0: what it runs or is cannot be watched. */
extern const char access_no_pid[];

/* NULL: the kernel says who @peer is; else why that cannot be told. */
const char *access_check_identity(const struct server *server, const struct peer *peer);

/* May @peer see and control what belongs to @uid. */
bool access_may_see(const struct server *server, struct peer *peer, uid_t uid);

/* Whose sessions @peer may flush: its own, or STORE_EVERYBODY's. */
uid_t access_uid(const struct server *server, struct peer *peer);

/* Is @session one that @peer may see, and @name its name or its job's? */
bool access_is_named(
	const struct server *server, struct peer *peer, const struct session *session, const char *name);

/* The node as a whole. */
struct access_totals {
	unsigned sessions; /* not closed */
	unsigned processes;
	unsigned connections;
};
struct access_totals access_totals(const struct server *server);

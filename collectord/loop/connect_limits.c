/* SPDX-License-Identifier: MIT */
#include "collectord/loop/connect_limits.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collectord/loop/access.h"
#include "collectord/service/config.h"
#include "collectord/service/log.h"
#include "collectord/loop/peer.h"
#include "collectord/loop/server.h"
#include "proto/base/clock.h"
#include "proto/base/limits.h"
#include "proto/base/subordinate_uids.h"

/* Number of connections that one uid may hold before their first frame. */
#define UNGREETED_PER_UID_MAX (UNGREETED_MAX / 2u)
#define NS_PER_CONNECTION     (1000000000u / CONNECTS_PER_S_MAX)

/*
 * Returns the bucket of @uid. A user without one gets a full bucket, in place of the user whose
 * last connection is the oldest.
 */
static struct arrivals_user *find_user(struct arrivals *arrivals, uid_t uid, uint64_t now_ns)
{
	struct arrivals_user *oldest = &arrivals->user[0];

	for (struct arrivals_user *u = oldest; u < arrivals->user + ARRIVALS_USERS; u++) {
		if (u->last_ns && u->uid == uid)
			return u;
		if (u->last_ns < oldest->last_ns)
			oldest = u;
	}
	*oldest = (struct arrivals_user){.uid = uid, .last_ns = now_ns, .left = CONNECTS_BURST_MAX};
	return oldest;
}

static void fill(struct arrivals_user *user, uint64_t now_ns)
{
	uint64_t more = (now_ns - user->last_ns) / NS_PER_CONNECTION;

	user->last_ns += more * NS_PER_CONNECTION;
	user->left = more < CONNECTS_BURST_MAX - user->left ? user->left + (unsigned)more
							    : CONNECTS_BURST_MAX;
}

bool arrivals_take(struct arrivals *arrivals, const struct subuids *subuids, int fd)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct arrivals_user *user;
	struct ucred ucred;
	socklen_t bytes = sizeof(ucred);
	uid_t owner;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &ucred, &bytes) < 0)
		return false;
	owner = subuids_owner(subuids, ucred.uid);
	user = find_user(arrivals, owner, now_ns);
	fill(user, now_ns);
	if (user->left) {
		user->left--;
		return true;
	}
	log_refusal(owner, ucred.uid, ucred.pid, "it connects too often");
	return false;
}

static unsigned count_owner(const struct server *server, uid_t owner)
{
	unsigned n = 0;

	for (const struct peer *p = server->peers; p; p = p->next)
		n += p->owner == owner;
	return n;
}

const char *arrivals_check(struct server *server, const struct peer *peer)
{
	const char *why = access_check_identity(server, peer);
	unsigned all;

	if (why)
		return why;
	if (other_users_is(server, peer))
		why = other_users_check(server, peer);
	if (why)
		return why;
	all = count_owner(server, peer->owner);
	if (server->n_peers > CONNECTIONS_MAX)
		return "too many connections";
	/* One user may have half of what the other users leave, so that a new user finds room. */
	if (all > CONNECTIONS_PER_UID_MAX || all > (CONNECTIONS_MAX - (server->n_peers - all)) / 2)
		return "too many connections of this user";
	return NULL;
}

struct silent {
	struct peer *peer[UNGREETED_MAX + 1]; /* newest first */
	size_t count;
};

bool arrivals_is_silent(const struct peer *peer)
{
	return !peer->role && !peer->is_finishing && !peer->is_ended;
}

static size_t count_silent(const struct silent *silent, uid_t owner)
{
	size_t n = 0;

	for (size_t i = 0; i < silent->count; i++)
		n += silent->peer[i]->owner == owner;
	return n;
}

void arrivals_make_way(struct server *server, const struct peer *newcomer)
{
	struct silent silent = {0};
	struct peer *last = NULL;
	size_t most = 0;

	if (!arrivals_is_silent(newcomer))
		return;
	for (struct peer *p = server->peers; p && silent.count <= UNGREETED_MAX; p = p->next)
		if (arrivals_is_silent(p))
			silent.peer[silent.count++] = p;
	if (silent.count <= UNGREETED_MAX &&
		count_silent(&silent, newcomer->owner) <= UNGREETED_PER_UID_MAX)
		return;
	for (size_t i = 0; i < silent.count; i++) {
		size_t n = count_silent(&silent, silent.peer[i]->owner);

		if (n < most)
			continue;
		most = n;
		last = silent.peer[i];
	}
	if (last)
		peer_refuse(last, "too many connections that do not say what they are");
}

/* SPDX-License-Identifier: MIT */
#include "collectord/loop/sessions/access.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "collectord/channel/channel.h"
#include "collectord/loop/connections/peer.h"
#include "collectord/loop/connections/state.h"
#include "collectord/loop/sessions/session.h"
#include "collectord/store/store.h"
#include "proto/base/cleanup.h"

#define GROUPS_MAX 65536u /* NGROUPS_MAX of the kernel */

const char access_no_pid[] = "its pid is not visible here: credentials do not cross pid namespaces";

const char *access_check_identity(const struct server *server, const struct peer *peer)
{
	if (server->hides_uids && peer->uid == server->hidden_uid)
		return "its uid is not visible here: credentials do not cross user namespaces";
	return NULL;
}

static bool has_group(const gid_t *groups, socklen_t bytes, gid_t wanted)
{
	for (size_t i = 0; i < bytes / sizeof(*groups); i++)
		if (groups[i] == wanted)
			return true;
	return false;
}

/* Checks the groups that the peer had when it connected. */
static bool is_in_group(int fd, gid_t wanted)
{
	CLEANUP(free_p) gid_t *all = NULL;
	gid_t few[64];
	socklen_t bytes = sizeof(few);

	if (!getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, few, &bytes))
		return has_group(few, bytes, wanted);
	if (errno != ERANGE || bytes > GROUPS_MAX * sizeof(*all))
		return false;
	all = malloc(bytes);
	return all && !getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, all, &bytes) &&
	       has_group(all, bytes, wanted);
}

/*
 * The groups of a connection are read once, so that the cost of a request does not depend on how
 * many other connections there are.
 */
static bool sees_all(const struct server *server, struct peer *peer)
{
	gid_t gid = server->see_all_gid;

	if (peer->has_access || peer->is_ended)
		return peer->sees_all;
	peer->has_access = true;
	peer->sees_all =
		(peer->known & CHANNEL_PEER_OF_HOST) &&
		(peer->uid == 0 ||
			(gid != (gid_t)-1 && (peer->gid == gid || is_in_group(peer->fd, gid))));
	return peer->sees_all;
}

bool access_may_see(const struct server *server, struct peer *peer, uid_t uid)
{
	return sees_all(server, peer) || peer->uid == uid;
}

uid_t access_uid(const struct server *server, struct peer *peer)
{
	return sees_all(server, peer) ? STORE_EVERYBODY : peer->uid;
}

bool access_is_named(const struct server *server, struct peer *peer, const struct session *session,
	const char *name)
{
	return access_may_see(server, peer, session->uid) &&
	       (!strcmp(session->name, name) || (session->job && !strcmp(session->job, name)));
}

/* SPDX-License-Identifier: MIT */
/* Counts what one user has of the limits that all sessions share. */
#include "collectord/loop/session.h"

#include <errno.h>

#include "collectord/loop/server.h"
#include "proto/base/limits.h"

unsigned session_count_instances(const struct server *server, uid_t owner)
{
	unsigned n = 0;

	for (const struct session *s = server->sessions; s; s = s->next)
		if (s->owner == owner)
			n += session_live_instances(s);
	return n;
}

unsigned session_count_all_instances(const struct server *server, uid_t owner)
{
	unsigned n = 0;

	for (const struct session *s = server->sessions; s; s = s->next)
		if (s->owner == owner)
			n += s->n_instances;
	return n;
}

bool session_has_many_unread(const struct server *server, uid_t owner)
{
	unsigned own = 0, others = 0;
	uint64_t own_bytes = 0, others_bytes = 0;

	for (const struct session *s = server->sessions; s; s = s->next) {
		*(s->owner == owner ? &own : &others) += s->n_instances - s->n_live - s->n_ended;
		*(s->owner == owner ? &own_bytes : &others_bytes) += s->unread_bytes;
	}
	return own && (2 * own + others >= UNREAD_PROCESSES_MAX ||
			      2 * own_bytes + others_bytes >= UNREAD_BYTES_MAX);
}

int session_check_room(const struct server *server, uid_t owner)
{
	unsigned own = 0, others = 0;

	for (const struct session *s = server->sessions; s; s = s->next)
		if (s->state != SESSION_CLOSED)
			*(s->owner == owner ? &own : &others) += 1;
	if (own >= SESSIONS_PER_UID_MAX || others >= SESSIONS_MAX)
		return -EDQUOT;
	/*
	 * One user may have half of what the others leave, so that there is room for one more user.
	 * Any user may take the last place.
	 */
	return own >= (SESSIONS_MAX - others + 1) / 2 ? -EDQUOT : 0;
}

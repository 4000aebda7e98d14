/* SPDX-License-Identifier: MIT */
#include "collectord/loop/removed_sessions.h"

#include <inttypes.h>
#include <stdlib.h>

#include "collectord/service/config.h"
#include "collectord/service/log.h"
#include "collectord/loop/server.h"
#include "collectord/loop/session.h"
#include "collectord/store/store.h"
#include "proto/base/cleanup.h"
#include "proto/base/limits.h"
#include "proto/base/subordinate_uids.h"

static struct removed *removed_free(struct removed *removed)
{
	if (!removed)
		return NULL;
	free(removed->name);
	free(removed->job);
	free(removed->why);
	free(removed);
	return NULL;
}

/*
 * Returns the user with most entries, by the same rule as index.db; of several, the one whose
 * newest entry is the oldest.
 */
static uid_t find_most(const struct server *server)
{
	struct {
		uid_t owner;
		unsigned n;
	} users[SESSIONS_REMOVED_MAX + 1];
	unsigned n_users = 0, most = 0;

	for (const struct removed *r = server->removed; r; r = r->next) {
		unsigned i = 0;

		while (i < n_users && users[i].owner != r->owner)
			i++;
		if (i == n_users) {
			users[n_users].owner = r->owner;
			users[n_users++].n = 0;
		}
		users[i].n++;
	}
	for (unsigned i = 0; i < n_users; i++)
		if (users[i].n >= users[most].n)
			most = i;
	return users[most].owner;
}

/*
 * If there are too many entries, removes the oldest one of @owner, or of the user with most
 * entries.
 */
static void trim(struct server *server, uid_t owner)
{
	struct removed **last = NULL, *gone;
	unsigned n_of_owner = 0, n = 0;

	for (const struct removed *r = server->removed; r; r = r->next) {
		n++;
		n_of_owner += r->owner == owner;
	}
	if (n_of_owner <= SESSIONS_REMOVED_PER_UID_MAX) {
		if (n <= SESSIONS_REMOVED_MAX)
			return;
		owner = find_most(server);
	}
	for (struct removed **at = &server->removed; *at; at = &(*at)->next)
		if ((*at)->owner == owner)
			last = at;
	gone = *last;
	*last = gone->next;
	removed_free(gone);
}

void removed_take(struct server *server, struct store_answer *answer)
{
	const struct store_removed *from = &answer->removed;
	struct removed *removed = calloc(1, sizeof(*removed));

	if (answer->database)
		session_forget_file(server, answer->database);
	if (!server->is_recovering)
		log_event("session %s of uid %u removed (%" PRIu64 " bytes): %s",
			answer->name ? answer->name : "", from->uid, from->bytes,
			answer->text ? answer->text : "");
	if (!removed || !answer->name || !answer->text) {
		free(removed);
		return;
	}
	*removed = (struct removed){
		.next = server->removed,
		.uid = from->uid,
		.owner = subuids_owner(server->config->subuids, from->uid),
		.name = TAKE(answer->name),
		.job = TAKE(answer->job),
		.why = TAKE(answer->text),
		.start_realtime_ns = from->start_ns,
		.removed_realtime_ns = from->removed_ns,
		.stored = from->stored,
		.bytes = from->bytes,
	};
	server->removed = removed;
	trim(server, removed->owner);
}

void removed_done(struct server *server)
{
	while (server->removed) {
		struct removed *next = server->removed->next;

		removed_free(server->removed);
		server->removed = next;
	}
}

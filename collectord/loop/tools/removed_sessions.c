/* SPDX-License-Identifier: MIT */
#include "collectord/loop/tools/removed_sessions.h"

#include <inttypes.h>
#include <stdlib.h>

#include "collectord/service/log.h"
#include "collectord/loop/connections/state.h"
#include "collectord/loop/tools/kept_sessions.h"
#include "collectord/loop/sessions/session.h"
#include "collectord/store/store.h"
#include "proto/base/cleanup.h"
#include "proto/base/limits.h"
#include "proto/base/list.h"

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

/* Forgets the oldest entry if there are too many. */
static void trim(struct server *server)
{
	struct removed **last = &server->removed;
	unsigned n = 0;

	for (struct removed **at = &server->removed; *at; at = &(*at)->next, n++)
		last = at;
	if (n > SESSIONS_REMOVED_PER_UID_MAX)
		*last = removed_free(*last);
}

void removed_take(struct server *server, struct store_answer *answer)
{
	const struct store_removed *from = &answer->removed;
	struct removed *removed;

	if (answer->database) {
		session_forget_file(server, answer->database);
		kept_sessions_forget(server, answer->database);
	}
	if (from->was_requested) {
		log_event("%s of uid %u removed: %s", answer->database ? answer->database : "",
			from->uid, answer->text ? answer->text : "");
		return;
	}
	removed = calloc(1, sizeof(*removed));
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
		.name = TAKE(answer->name),
		.job = TAKE(answer->job),
		.why = TAKE(answer->text),
		.start_realtime_ns = from->start_ns,
		.removed_realtime_ns = from->removed_ns,
		.stored = from->stored,
		.bytes = from->bytes,
	};
	server->removed = removed;
	trim(server);
}

void removed_done(struct server *server)
{
	while (server->removed)
		removed_free(LIST_POP(server->removed));
}

/* SPDX-License-Identifier: MIT */
#include "collectord/loop/tools/kept_sessions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectord/loop/sessions/access.h"
#include "collectord/loop/connections/state.h"
#include "collectord/store/store.h"
#include "proto/base/cleanup.h"
#include "proto/wire/msg.h"

/* Upper bound for tag and length of a field. */
#define PART_BYTES 8u

void kept_sessions_forget(struct server *server, const char *database)
{
	struct kept_session **at = &server->kept, *kept;

	while (*at && strcmp((*at)->database, database) != 0)
		at = &(*at)->next;
	kept = *at;
	if (!kept)
		return;
	*at = kept->next;
	free(kept->database);
	free(kept);
}

void kept_sessions_take(struct server *server, struct store_answer *answer)
{
	struct kept_session *kept;

	if (!answer->database)
		return;
	kept_sessions_forget(server, answer->database);
	kept = answer->complete ? calloc(1, sizeof(*kept)) : NULL;
	if (!kept)
		return;
	*kept = (struct kept_session){
		.next = server->kept,
		.uid = answer->left.uid,
		.database = TAKE(answer->database),
	};
	server->kept = kept;
}

void kept_sessions_done(struct server *server)
{
	while (server->kept)
		kept_sessions_forget(server, server->kept->database);
}

int kept_sessions_list(
	struct server *server, struct peer *peer, size_t bytes, Rtl__SessionsReply *reply)
{
	size_t count = 0;

	for (const struct kept_session *kept = server->kept; kept; kept = kept->next)
		count++;
	reply->kept = calloc(count + 1, sizeof(*reply->kept));
	if (!reply->kept)
		return -ENOMEM;
	for (const struct kept_session *kept = server->kept; kept; kept = kept->next) {
		size_t more = PART_BYTES + strlen(kept->database);
		protobuf_c_boolean has;

		if (!access_may_see(server, peer, kept->uid) || more > bytes)
			continue;
		bytes -= more;
		msg_set_bytes(&has, reply->kept + reply->n_kept++, kept->database);
	}
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* The handles of sessions and of their processes. */
#include <stdlib.h>

#include "collectord/store/internal.h"
#include "collectord/store/retention.h"
#include "proto/base/list.h"

static void free_process(struct store_process *p)
{
	process_free(p->process);
	free(p->hello);
	in_flight_done(&p->in_flight);
	free(p);
}

static void free_processes(struct store_process *p)
{
	while (p)
		free_process(LIST_POP(p));
}

void destroy_session(struct store_session *session)
{
	free_processes(session->processes);
	free_processes(session->ended);
	free(session->name);
	free(session->job);
	free(session->command);
	free(session->controls);
	free(session->categories);
	free(session->host);
	free(session->path);
	free(session->dir);
	free(session);
}

void session_put_index(struct store *store, struct store_session *session)
{
	struct index_entry entry = {
		.database = session->path,
		.name = session->name,
		.job = session->job,
		.command = session->command,
		.uid = session->uid,
		.start_realtime_ns = session->start_realtime_ns,
	};

	/* The index only helps to find files; the files are authoritative. */
	if (store->index)
		retention_say_index(store, index_put(store->index, &entry));
}

void session_join(struct store_session *session, struct store_database *database)
{
	session->database = database;
	session->sibling = database->first_session;
	database->first_session = session;
	database->sessions++;
}

void session_leave(struct store_session *session)
{
	struct store_database *database = session->database;

	LIST_REMOVE(database->first_session, session, sibling);
	database->sessions--;
	session->database = NULL;
}

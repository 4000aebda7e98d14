/* SPDX-License-Identifier: MIT */
#include "collectord/loop/other_users.h"

#include <string.h>
#include <unistd.h>

#include "collectord/loop/connections/peer.h"
#include "collectord/loop/sessions/runner.h"
#include "collectord/loop/connections/state.h"
#include "collectord/loop/sessions/session.h"
#include "collectord/service/config.h"
#include "collectord/store/store.h"
#include "proto/base/cleanup.h"
#include "proto/base/process_stat.h"

/* Upper bound for the shells, launchers and containers between a rank and its rtl run. */
#define GENERATIONS_MAX 256u

static bool is_runner(const struct session *session, pid_t pid)
{
	for (const struct runner *r = session->runners; r; r = r->next)
		if (r->peer->pid == pid)
			return true;
	return false;
}

/*
 * True if one of its ancestors is a runner. rtl run is a subreaper, so an orphan of the job has it
 * as an ancestor, too.
 */
static bool is_of_job(const struct session *session, pid_t pid)
{
	struct process_stat stat;

	for (unsigned i = 0; pid > 1 && i < GENERATIONS_MAX; i++) {
		if (process_stat_read(pid, &stat) < 0)
			return false;
		pid = stat.parent;
		if (is_runner(session, pid))
			return true;
	}
	return false;
}

static void count(struct other_users *others, struct session *session, const struct peer *peer)
{
	for (unsigned i = 0; i < others->count; i++)
		if (others->pid[i] == peer->pid)
			return;
	if (others->count == OTHER_USERS_MAX)
		return;
	others->pid[others->count++] = peer->pid;
	(void)store_session_unseen(session->store, 1, peer->uid); /* without memory the count is
								   * lost, and the job goes on */
	session->had_unrecorded = true;
}

bool other_users_is(const struct server *server, const struct peer *peer)
{
	return server->config->is_private && peer->uid != geteuid() && peer->uid != 0;
}

const char *other_users_check(struct server *server, const struct peer *peer)
{
	struct session *session = server->private_session;

	if (!session || !is_of_job(session, peer->pid))
		return "this collector is private to another user";
	if (geteuid() == 0)
		return NULL;
	count(server->other_users, session, peer);
	return "this collector is private to another user; root records all users of its job";
}

// SPDX-License-Identifier: MIT
#include "cli/live/hang.h"

#include <string.h>
#include <unistd.h>

#include "cli/base/memory.h"
#include "cli/outstanding/outstanding.h"
#include "cli/reason/reason.h"
#include "cli/trace/trace.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"

/* The time between two readings is at least so many times what the first of them took. */
#define PAUSE_FACTOR 20

static bool has_pending(const struct sample *now, size_t session)
{
	for (size_t i = 0; i < now->row_count; i++)
		if (now->rows[i].session == session && now->rows[i].pending)
			return true;
	return false;
}

static bool may_hang(const struct sample *now, size_t session, bool is_named)
{
	const struct sample_session *s = now->sessions + session;

	/* Root reads files that other users wrote only if asked to. */
	if (!is_named && s->has_uid && s->uid != getuid())
		return false;
	return s->database && !s->is_closed && s->live_processes && has_pending(now, session);
}

static void look(struct sample_session *session)
{
	CLEANUP(query_free_p) struct query *query = NULL;
	CLEANUP(trace_free_p) struct trace *trace = NULL;
	CLEANUP(outstanding_free_p) struct outstanding *o = NULL;
	CLEANUP(outstanding_hang_free_p) struct outstanding_hang *hang = NULL;
	char error[QUERY_ERROR_BYTES] = "";

	if (query_open(session->database, error, &query) ||
		!outstanding_may_hang(query, REASON_HANG_NS) ||
		trace_open(query, NULL, error, &trace) || outstanding_new(trace, &o))
		return;
	hang = outstanding_find_hang(o, REASON_HANG_NS);
	if (!hang)
		return;
	session->hang = TAKE(hang->line);
	session->hang_ns = hang->for_ns;
}

static const struct sample_session *find_before(
	const struct sample *before, const struct sample_session *session)
{
	for (size_t i = 0; before && i < before->session_count; i++)
		if (before->sessions[i].database &&
			!strcmp(before->sessions[i].database, session->database))
			return before->sessions + i;
	return NULL;
}

void stat_find_hangs(struct sample *now, const struct sample *before, bool is_named)
{
	for (size_t i = 0; i < now->session_count; i++) {
		struct sample_session *session = now->sessions + i;
		const struct sample_session *old;
		uint64_t begin_ns = clock_monotonic_ns(), end_ns;

		if (!may_hang(now, i, is_named))
			continue;
		old = find_before(before, session);
		if (old && old->asked_ns > begin_ns) {
			session->hang = old->hang ? xstrdup(old->hang) : NULL;
			session->hang_ns = old->hang_ns;
			session->asked_ns = old->asked_ns;
			continue;
		}
		look(session);
		end_ns = clock_monotonic_ns();
		session->asked_ns = end_ns + PAUSE_FACTOR * (end_ns - begin_ns);
	}
}

// SPDX-License-Identifier: MIT
#include "cli/live/stat_outstanding.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/command.h"
#include "cli/outstanding/outstanding.h"
#include "cli/trace/trace.h"
#include "cli/collector/sample.h"
#include "cli/base/message.h"
#include "proto/base/cleanup.h"
#include "proto/base/limits.h"

struct refresh {
	char *trouble; /* of a collector that failed to update; the shown data is older */
};

static int take_reply(void *data, const char *socket, const Rtl__Frame *frame)
{
	const Rtl__CtlReply *reply = frame->ctl_reply;
	CLEANUP(free_p) char *text = msg_string(reply->has_text, &reply->text, LABEL_BYTES_MAX);
	struct refresh *refresh = data;

	if (!reply->ok && !refresh->trouble &&
		asprintf(&refresh->trouble, "%s: %s", socket, text ? text : "refused") < 0)
		refresh->trouble = NULL;
	return 0;
}

/* "flush" makes the collector write dispatches in flight, too. */
static int refresh_databases(const char *socket, struct refresh *refresh)
{
	Rtl__CtlRequest body = RTL__CTL_REQUEST__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;
	struct ask_result asked;

	body.has_version_min = body.has_version_max = 1;
	body.version_min = PROTO_VERSION_MIN;
	body.version_max = PROTO_VERSION_MAX;
	msg_set_bytes(&body.has_verb, &body.verb, "flush");
	frame.body_case = RTL__FRAME__BODY_CTL_REQUEST;
	frame.ctl_request = &body;
	return ask_all(socket, &frame, RTL__FRAME__BODY_CTL_REPLY, take_reply, refresh, &asked);
}

static void say_why(const struct query *query, const char *error)
{
	if (!error[0] && query)
		error = query_error(query);
	say("%s", error[0] ? error : "out of memory");
}

/* Returns 0, or an error after a message. */
static int load(const struct sample_session *session, struct outstanding **ret)
{
	CLEANUP(query_free_p) struct query *query = NULL;
	CLEANUP(trace_free_p) struct trace *trace = NULL;
	char error[QUERY_ERROR_BYTES] = "";
	int r;

	if (!session->database) {
		say("%s: has no database yet", session->name ? session->name : "-");
		return -ENOENT;
	}
	r = query_open(session->database, error, &query);
	if (!r)
		r = trace_open(query, NULL, error, &trace);
	if (!r)
		r = outstanding_new(trace, ret);
	if (r == -EACCES && session->has_uid && session->uid != getuid())
		say("%s: its database is readable for uid %u and root only; rtl stat has the "
		    "numbers of what is outstanding",
			session->name ? session->name : "-", session->uid);
	else if (r)
		say_why(query, error);
	return r;
}

static int show(const struct sample_session *session, bool is_first)
{
	CLEANUP(outstanding_free_p) struct outstanding *o = NULL;
	const char *shown = sample_shown_name(session);
	CLEANUP(free_p)
	char *name = render_escape(shown ? shown : "-", strlen(shown ? shown : "-"));
	int r = load(session, &o);

	if (r)
		return r;
	printf("%s%s\n", is_first ? "" : "\n", name);
	outstanding_show(o, RENDER_TABLE, render_terminal_width(STDOUT_FILENO, 100), stdout);
	return 0;
}

static int put_json(const struct sample_session *session, json_t *sessions)
{
	CLEANUP(outstanding_free_p) struct outstanding *o = NULL;
	json_t *document;
	int r = load(session, &o);

	if (r)
		return r;
	document = outstanding_json(o);
	json_object_set_new(document, "session",
		render_json_text(session->name, session->name ? strlen(session->name) : 0));
	json_array_append_new(sessions, document);
	return 0;
}

static int show_all(const struct sample *sample, bool is_json)
{
	json_t *document = json_object(), *sessions = json_array();
	int r = 0, failed = 0;

	for (size_t i = 0; i < sample->session_count; i++) {
		r = is_json ? put_json(sample->sessions + i, sessions)
			    : show(sample->sessions + i, i == 0);
		failed |= r != 0;
	}
	if (!is_json && !sample->session_count)
		puts("no sessions; rtl run starts one");
	json_object_set_new(document, "schema", json_integer(1));
	json_object_set_new(document, "sessions", sessions);
	if (is_json)
		render_json(stdout, document, false);
	json_decref(document);
	return failed ? CMD_BAD_INPUT : CMD_OK;
}

int stat_outstanding(const char *socket, const char *session, bool is_json)
{
	CLEANUP(sample_free_p) struct sample *sample = NULL;
	struct refresh refresh = {0};
	int r = refresh_databases(socket, &refresh);

	if (!r)
		r = sample_take(socket, session, &sample);
	if (!r && refresh.trouble && sample->collectors)
		say("%s; what follows is of before", refresh.trouble);
	free(refresh.trouble);
	if (r) {
		say("%s", strerror(-r));
		return CMD_BAD_INPUT;
	}
	if (!sample->collectors) {
		say("no collector answers (%s); rtl outstanding FILE shows what a database has",
			sample->trouble ? sample->trouble : "none found");
		return CMD_BAD_INPUT;
	}
	if (session && !sample->session_count) {
		say("%s: no such session is open; see rtl ls", session);
		return CMD_BAD_INPUT;
	}
	return show_all(sample, is_json);
}

// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
#include "cli/collector/ask_all.h"
#include "cli/base/command.h"
#include "cli/base/options.h"
#include "cli/base/escape.h"
#include "cli/base/message.h"
#include "proto/settings/selection.h"
#include "proto/base/cleanup.h"
#include "proto/base/limits.h"

enum ctl_key {
	KEY_SESSION = 0x100,
	KEY_DURATION,
};

struct ctl_options {
	const char *socket, *verb, *session, *ranks;
	uint64_t duration_ns;
};

static const struct argp_option options[] = {
	{"socket", 'S', "PATH", 0, "ask only this collector", 0},
	{"session", KEY_SESSION, "NAME", 0, "only this session (default: all of yours)", 0},
	{"ranks", 'r', "LIST", 0, "only these ranks: 0,3-5", 0},
	{"duration", KEY_DURATION, "TIME", 0,
		"start, stop: do the opposite after TIME: 10, 500ms, 2m", 0},
	{0},
};

static bool is_verb(const char *text)
{
	static const char *const verbs[] = {"status", "flush", "start", "stop"};

	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (!strcmp(text, verbs[i]))
			return true;
	return false;
}

static bool is_record(const struct ctl_options *o)
{
	return !strcmp(o->verb, "start") || !strcmp(o->verb, "stop");
}

static void check(const struct ctl_options *o)
{
	if (!o->verb)
		opts_error("needs start, stop, status or flush");
	if (!is_verb(o->verb))
		opts_error("%s: not start, stop, status or flush", o->verb);
	if (o->duration_ns && !is_record(o))
		opts_error("--duration is for start and stop");
	if (o->ranks && !strcmp(o->verb, "flush"))
		opts_error("--ranks is for start, stop and status");
}

static void take_session(struct ctl_options *o, const char *name)
{
	if (o->session)
		opts_error("one SESSION at a time");
	if (!*name)
		opts_error("--session: the name is empty");
	o->session = name;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct ctl_options *o = state->input;
	struct choice_list ranks;

	switch (key) {
	case 'S':
		o->socket = opts_socket(arg);
		return 0;
	case KEY_SESSION:
		take_session(o, arg);
		return 0;
	case 'r':
		opts_list("ranks", arg, &ranks);
		o->ranks = arg;
		return 0;
	case KEY_DURATION:
		if (choice_parse_duration(arg, &o->duration_ns))
			opts_error("--duration %s: not a time like 10, 1.5, 500ms or 2m", arg);
		return 0;
	case ARGP_KEY_ARG:
		if (!o->verb)
			o->verb = arg;
		else
			take_session(o, arg);
		return 0;
	case ARGP_KEY_END:
		check(o);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp parser = {options, parse, "start|stop|status|flush [SESSION]",
	"Start or stop recording while jobs run, ask how they and the collectors are, or have "
	"what was received committed.\v"
	"Start and stop return when the processes have done it, and say how many record or are "
	"dormant now; processes that connect later do likewise. Exit status: 0; 1: nothing was "
	"meant by it, and why.",
	NULL, NULL, NULL};

/* ---- replies --------------------------------------------------------------------------- */

/*
 * Collected over several collectors. If nothing matched, the answer of the collector that came
 * closest is printed.
 */
struct ctl_result {
	bool is_done; /* for at least one process */
	bool has_failed;
	uint32_t reason;
	char *why; /* "SOCKET: text" */
};

/* Prints each line of @text as a line. */
static void print_lines(const char *text)
{
	for (const char *line = text, *next; line && *line; line = next) {
		size_t length = strcspn(line, "\n");
		CLEANUP(free_p) char *safe = render_escape(line, length);

		next = line + length + (line[length] == '\n');
		printf("%s\n", safe ? safe : "");
	}
}

static void keep_why(struct ctl_result *result, const char *socket, const char *text)
{
	free(result->why);
	result->why = xasprintf("%s: %s", socket, text ? text : "refused");
}

struct ctl_asking {
	const struct ctl_options *options;
	struct ctl_result result;
};

static int show(void *data, const char *socket, const Rtl__Frame *frame)
{
	const Rtl__CtlReply *reply = frame->ctl_reply;
	CLEANUP(free_p) char *text = msg_string(reply->has_text, &reply->text, REPLY_BYTES_MAX);
	CLEANUP(free_p) char *safe_socket = render_escape(socket, strlen(socket));
	struct ctl_asking *asking = data;
	struct ctl_result *result = &asking->result;

	if (!reply->ok && !reply->matched) {
		if (!result->why || reply->reason > result->reason)
			keep_why(result, socket, text);
		if (reply->reason > result->reason)
			result->reason = reply->reason;
		result->has_failed |= !reply->reason;
		return 0;
	}
	result->is_done = true;
	result->has_failed |= !reply->ok;
	if (!is_record(asking->options))
		printf("%s: ", safe_socket ? safe_socket : "");
	print_lines(text && *text ? text : "ok");
	return 0;
}

static int conclude(const struct ctl_result *result, const struct ask_result *asked)
{
	if (!asked->answered)
		say("no collector answers (%s); rtl doctor tells more",
			asked->error ? asked->text : "none found");
	else if (result->why && (!result->is_done || result->has_failed))
		say("%s", result->why);
	else if (asked->error && !ask_is_absent(asked->error))
		say("%s", asked->text);
	return result->is_done && !result->has_failed ? CMD_OK : CMD_BAD_INPUT;
}

int cmd_ctl(int argc, char **argv)
{
	Rtl__CtlRequest body = RTL__CTL_REQUEST__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;
	struct ctl_options o = {0};
	struct ctl_asking asking = {.options = &o};
	struct ask_result asked;
	int r;

	opts_parse(&parser, argc, argv, 0, &o);
	body.has_version_min = body.has_version_max = 1;
	body.version_min = PROTO_VERSION_MIN;
	body.version_max = PROTO_VERSION_MAX;
	msg_set_bytes(&body.has_verb, &body.verb, o.verb);
	if (o.session)
		msg_set_bytes(&body.has_session, &body.session, o.session);
	if (o.ranks)
		msg_set_bytes(&body.has_ranks, &body.ranks, o.ranks);
	body.has_duration_ns = o.duration_ns != 0;
	body.duration_ns = o.duration_ns;
	frame.body_case = RTL__FRAME__BODY_CTL_REQUEST;
	frame.ctl_request = &body;
	if (ask_all(o.socket, &frame, RTL__FRAME__BODY_CTL_REPLY, show, &asking, &asked)) {
		say("out of memory");
		return CMD_BAD_INPUT;
	}
	r = conclude(&asking.result, &asked);
	free(asking.result.why);
	return r;
}

// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "cli/ask.h"
#include "cli/cmd.h"
#include "cli/opts.h"
#include "cli/render.h"
#include "cli/say.h"
#include "proto/cleanup.h"
#include "proto/limits.h"

struct ctl_options {
	const char *socket, *verb, *session;
	bool has_failed;
};

static const struct argp_option options[] = {
	{"socket", 'S', "PATH", 0, "ask only this collector", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct ctl_options *o = state->input;

	switch (key) {
	case 'S':
		o->socket = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (!o->verb)
			o->verb = arg;
		else if (!o->session)
			o->session = arg;
		else
			opts_error("one SESSION at a time");
		return 0;
	case ARGP_KEY_END:
		if (!o->verb)
			opts_error("needs status or flush");
		if (strcmp(o->verb, "status") != 0 && strcmp(o->verb, "flush") != 0)
			opts_error("%s: not status or flush", o->verb);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp parser = {options, parse, "status|flush [SESSION]",
	"Ask the collectors of this user how they are, or to commit what they have.", NULL, NULL,
	NULL};

static int show(void *data, const char *socket, const Rtl__Frame *frame)
{
	const Rtl__CtlReply *reply = frame->ctl_reply;
	CLEANUP(free_p) char *text = msg_string(reply->has_text, &reply->text, OUTPUT_BYTES_MAX);
	CLEANUP(free_p) char *safe_socket = render_escape(socket, strlen(socket));
	struct ctl_options *o = data;

	if (!reply->ok) {
		o->has_failed = true;
		say("%s: %s", socket, text ? text : "refused");
		return 0;
	}
	printf("%s: ", safe_socket ? safe_socket : "");
	/* Its lines stay lines. */
	for (char *line = text, *next; line && *line; line = next) {
		size_t length = strcspn(line, "\n");
		CLEANUP(free_p) char *safe = render_escape(line, length);

		next = line + length + (line[length] == '\n');
		printf("%s\n", safe ? safe : "");
	}
	if (!text || !*text)
		printf("ok\n");
	return 0;
}

int cmd_ctl(int argc, char **argv)
{
	Rtl__CtlRequest body = RTL__CTL_REQUEST__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;
	struct ctl_options o = {0};
	struct ask_result result;

	opts_parse(&parser, argc, argv, 0, &o);
	body.has_version_min = body.has_version_max = 1;
	body.version_min = PROTO_VERSION_MIN;
	body.version_max = PROTO_VERSION_MAX;
	msg_set_bytes(&body.has_verb, &body.verb, o.verb);
	if (o.session)
		msg_set_bytes(&body.has_session, &body.session, o.session);
	frame.body_case = RTL__FRAME__BODY_CTL_REQUEST;
	frame.ctl_request = &body;
	if (ask_all(o.socket, &frame, RTL__FRAME__BODY_CTL_REPLY, show, &o, &result)) {
		say("out of memory");
		return CMD_BAD_INPUT;
	}
	if (!result.answered)
		say("no collector answers (%s); rtl doctor tells more",
			result.error ? result.text : "none found");
	else if (result.error && !ask_is_absent(result.error))
		say("%s", result.text);
	return result.answered && !o.has_failed ? CMD_OK : CMD_BAD_INPUT;
}

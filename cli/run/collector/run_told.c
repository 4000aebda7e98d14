// SPDX-License-Identifier: MIT
/*
 * The verdict as the collector reports it, because the file of a service cannot be read in a
 * container.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/collector/ask_all.h"
#include "cli/run/collector/collector.h"
#include "cli/database/session/verdict.h"
#include "proto/base/cleanup.h"
#include "proto/base/limits.h"

struct wanted_line {
	const char *session, *database;
	char *line;
};

static bool is_same(bool has, const ProtobufCBinaryData *bytes, const char *text)
{
	return has && bytes->len == strlen(text) && !memcmp(bytes->data, text, bytes->len);
}

static int take_line(void *data, const char *socket, const Rtl__Frame *frame)
{
	const Rtl__SessionsReply *reply = frame->sessions_reply;
	struct wanted_line *wanted = data;

	(void)socket; /* only one collector is asked */
	for (size_t i = 0; i < reply->n_sessions && !wanted->line; i++) {
		const Rtl__SessionInfo *info = reply->sessions[i];

		if (is_same(info->has_session, &info->session, wanted->session) &&
			is_same(info->has_database, &info->database, wanted->database))
			wanted->line = msg_string(
				info->has_complete, &info->complete, COMPLETENESS_LINE_BYTES);
	}
	return 0;
}

/* The words of the contract: "complete: N dispatched, ...", or SIMULATED in front of them. */
static int read_line(const char *line, struct verdict *verdict)
{
	static const char simulated[] = "SIMULATED ", complete[] = "complete: ";

	if (strlen(line) >= sizeof(verdict->line))
		return -EBADMSG;
	strcpy(verdict->line, line);
	verdict->is_simulated = !strncmp(line, simulated, sizeof(simulated) - 1);
	if (verdict->is_simulated)
		line += sizeof(simulated) - 1;
	verdict->is_complete = !strncmp(line, complete, sizeof(complete) - 1);
	line = strstr(line, ": ");
	if (!line)
		return -EBADMSG;
	verdict->is_empty = !strtoull(line + 2, NULL, 10);
	return 0;
}

int run_told_verdict(const struct run_collector *collector, struct verdict **ret)
{
	Rtl__SessionsRequest body = RTL__SESSIONS_REQUEST__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;
	struct wanted_line wanted = {
		.session = collector->session, .database = collector->database};
	CLEANUP(verdict_free_p) struct verdict *verdict = calloc(1, sizeof(*verdict));
	struct ask_result result;
	int r;

	if (!verdict)
		return -ENOMEM;
	body.has_version_min = body.has_version_max = 1;
	body.version_min = PROTO_VERSION_MIN;
	body.version_max = PROTO_VERSION_MAX;
	frame.body_case = RTL__FRAME__BODY_SESSIONS_REQUEST;
	frame.sessions_request = &body;
	r = ask_all(collector->socket, &frame, RTL__FRAME__BODY_SESSIONS_REPLY, take_line, &wanted,
		&result);
	if (r == 0)
		r = wanted.line ? read_line(wanted.line, verdict) : -ENOENT;
	free(wanted.line);
	if (r < 0)
		return r;
	*ret = TAKE(verdict);
	return 0;
}

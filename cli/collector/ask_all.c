// SPDX-License-Identifier: MIT
#include "cli/collector/ask_all.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "proto/base/cleanup.h"
#include "proto/base/limits.h"

static void free_sockets_p(char ***paths)
{
	places_sockets_free(*paths);
}

static void keep_error(
	struct ask_result *result, const struct client *client, const char *path, int error)
{
	result->error = error;
	/* A line that is cut off is still useful. */
	(void)snprintf(
		result->text, sizeof(result->text), "%s: %s", path, client_error(client, error));
}

bool ask_is_absent(int error)
{
	return error == -ENOENT || error == -ECONNREFUSED;
}

static int ask_one(const char *path, const Rtl__Frame *request, Rtl__Frame__BodyCase expect,
	ask_reply *reply, void *data, struct ask_result *result)
{
	struct client client = CLIENT_NONE;
	Rtl__Frame *answer = NULL;
	int r = client_connect(&client, path);

	if (!r)
		r = client_call(&client, request, expect, &answer);
	if (r) {
		if (!ask_is_absent(r) || !result->error)
			keep_error(result, &client, path, r);
		client_close(&client);
		return 0;
	}
	result->answered++;
	r = reply(data, path, answer);
	client_close(&client);
	return r;
}

int ask_all(const char *option, const Rtl__Frame *request, Rtl__Frame__BodyCase expect,
	ask_reply *reply, void *data, struct ask_result *result)
{
	CLEANUP(free_sockets_p) char **paths = NULL;
	int r;

	*result = (struct ask_result){0};
	r = places_sockets(option, &paths);
	for (char **path = paths; !r && *path; path++)
		r = ask_one(*path, request, expect, reply, data, result);
	return r;
}

struct wanted {
	const char *name;
	char *database;
	char *removal;
};

static void note_removal(struct wanted *wanted, const Rtl__SessionInfo *info)
{
	CLEANUP(free_p) char *why = msg_string(true, &info->removed_why, COMMAND_BYTES_MAX);
	time_t at = (time_t)(info->removed_realtime_ns / 1000000000);
	char when[32] = "";
	struct tm tm;

	if (gmtime_r(&at, &tm))
		(void)strftime(when, sizeof(when), "%F %T UTC", &tm);
	/* The newest comes first. */
	if (!wanted->removal && asprintf(&wanted->removal, "its collector removed it at %s: %s",
					when, why ? why : "") < 0)
		wanted->removal = NULL;
}

/* Compares its name and the launcher's key of its job. */
static int look_for_session(void *data, const char *socket, const Rtl__Frame *reply)
{
	const Rtl__SessionsReply *sessions = reply->sessions_reply;
	struct wanted *wanted = data;

	(void)socket; /* any collector will do */
	for (size_t i = 0; i < sessions->n_sessions && !wanted->database; i++) {
		const Rtl__SessionInfo *info = sessions->sessions[i];
		CLEANUP(free_p)
		char *name = msg_string(info->has_session, &info->session, LABEL_BYTES_MAX);
		CLEANUP(free_p)
		char *job = msg_string(info->has_job, &info->job, LABEL_BYTES_MAX);

		if ((!name || strcmp(name, wanted->name) != 0) &&
			(!job || strcmp(job, wanted->name) != 0))
			continue;
		if (info->has_removed_why)
			note_removal(wanted, info);
		else
			wanted->database = msg_string(info->has_database, &info->database, 4096);
	}
	return wanted->database ? 1 : 0;
}

/* It is no error if there is no collector, because the state directories are searched, too. */
static void ask_sessions(ask_reply *reply, void *data)
{
	Rtl__SessionsRequest body = RTL__SESSIONS_REQUEST__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;
	struct ask_result result;

	body.has_version_min = body.has_version_max = 1;
	body.version_min = PROTO_VERSION_MIN;
	body.version_max = PROTO_VERSION_MAX;
	frame.body_case = RTL__FRAME__BODY_SESSIONS_REQUEST;
	frame.sessions_request = &body;
	(void)ask_all(NULL, &frame, RTL__FRAME__BODY_SESSIONS_REPLY, reply, data, &result);
}

char *ask_database(const char *name, char **ret_removal)
{
	struct wanted wanted = {.name = name};

	ask_sessions(look_for_session, &wanted);
	*ret_removal = wanted.removal;
	return wanted.database;
}

struct taker {
	void (*take)(void *data, const char *path);
	void *data;
};

static int give_own_databases(void *data, const char *socket, const Rtl__Frame *reply)
{
	const Rtl__SessionsReply *sessions = reply->sessions_reply;
	const struct taker *taker = data;

	(void)socket; /* any collector will do */
	for (size_t i = 0; i < sessions->n_sessions; i++) {
		const Rtl__SessionInfo *info = sessions->sessions[i];
		CLEANUP(free_p)
		char *database = msg_string(info->has_database, &info->database, 4096);

		if (database && info->has_uid && info->uid == getuid())
			taker->take(taker->data, database);
	}
	return 0;
}

void ask_own_databases(void (*take)(void *data, const char *path), void *data)
{
	struct taker taker = {.take = take, .data = data};

	ask_sessions(give_own_databases, &taker);
}

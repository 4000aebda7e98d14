// SPDX-License-Identifier: MIT
#include "cli/collector/ask_all.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/array.h"
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
	struct ask_matches *matches;
};

static void note_removal(struct ask_matches *matches, const Rtl__SessionInfo *info)
{
	CLEANUP(free_p) char *why = msg_string(true, &info->removed_why, COMMAND_BYTES_MAX);
	time_t at = (time_t)(info->removed_realtime_ns / 1000000000);
	char when[32] = "", *removal;
	struct tm tm;

	if (matches->removal && info->removed_realtime_ns <= matches->removed_realtime_ns)
		return;
	if (gmtime_r(&at, &tm))
		(void)strftime(when, sizeof(when), "%F %T UTC", &tm);
	if (asprintf(&removal, "its collector removed it at %s: %s", when, why ? why : "") < 0)
		return;
	free(matches->removal);
	matches->removal = removal;
	matches->removed_realtime_ns = info->removed_realtime_ns;
}

/* Takes the texts of @match. Two collectors may list the same file. */
static void add_match(struct ask_matches *matches, struct ask_match *match)
{
	struct ask_match *grown = NULL;
	bool is_known = !match->session || !match->database;

	for (size_t i = 0; i < matches->count && !is_known; i++)
		is_known = !strcmp(matches->at[i].database, match->database) &&
			   !strcmp(matches->at[i].session, match->session);
	if (!is_known)
		grown = grow_by_one(matches->at, matches->count, sizeof(*grown));
	if (!grown) {
		free(match->session);
		free(match->database);
		return;
	}
	matches->at = grown;
	grown[matches->count++] = *match;
}

/* Compares its name and the launcher's key of its job. */
static int look_for_sessions(void *data, const char *socket, const Rtl__Frame *reply)
{
	const Rtl__SessionsReply *sessions = reply->sessions_reply;
	const struct wanted *wanted = data;

	(void)socket; /* any collector will do */
	for (size_t i = 0; i < sessions->n_sessions; i++) {
		const Rtl__SessionInfo *info = sessions->sessions[i];
		CLEANUP(free_p)
		char *name = msg_string(info->has_session, &info->session, LABEL_BYTES_MAX);
		CLEANUP(free_p)
		char *job = msg_string(info->has_job, &info->job, LABEL_BYTES_MAX);
		struct ask_match match = {
			.start_realtime_ns = info->start_realtime_ns,
			.uid = info->uid,
			.is_exact = name && !strcmp(name, wanted->name),
		};

		if (!match.is_exact && (!job || strcmp(job, wanted->name) != 0))
			continue;
		if (info->has_removed_why) {
			note_removal(wanted->matches, info);
			continue;
		}
		match.session = TAKE(name);
		match.database = msg_string(info->has_database, &info->database, 4096);
		add_match(wanted->matches, &match);
	}
	return 0;
}

static int compare_matches(const void *a, const void *b)
{
	const struct ask_match *x = a, *y = b;

	if (x->is_exact != y->is_exact)
		return x->is_exact ? -1 : 1;
	return (x->start_realtime_ns < y->start_realtime_ns) -
	       (x->start_realtime_ns > y->start_realtime_ns);
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

void ask_named(const char *name, struct ask_matches *ret)
{
	struct wanted wanted = {.name = name, .matches = ret};

	*ret = (struct ask_matches){0};
	ask_sessions(look_for_sessions, &wanted);
	if (ret->count)
		qsort(ret->at, ret->count, sizeof(*ret->at), compare_matches);
}

void ask_matches_done(struct ask_matches *matches)
{
	for (size_t i = 0; i < matches->count; i++) {
		free(matches->at[i].session);
		free(matches->at[i].database);
	}
	free(matches->at);
	free(matches->removal);
	*matches = (struct ask_matches){0};
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

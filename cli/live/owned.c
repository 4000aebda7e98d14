// SPDX-License-Identifier: MIT
#include "cli/live/owned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/memory.h"
#include "cli/base/command.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/collector/ask_all.h"
#include "cli/database/file.h"
#include "cli/database/session/find_session.h"
#include "proto/base/cleanup.h"
#include "proto/base/limits.h"

void owned_done(struct owned *owned)
{
	free(owned->path);
	owned->path = NULL;
}

struct asking {
	bool is_done;
	uint32_t reason; /* of the refusal in @why; the higher, the more its collector knew */
	bool is_refused;
	char *why;
};

static int take_reply(void *data, const char *socket, const Rtl__Frame *frame)
{
	const Rtl__CtlReply *reply = frame->ctl_reply;
	struct asking *asking = data;
	char *text = msg_string(reply->has_text, &reply->text, REPLY_BYTES_MAX);

	(void)socket; /* a user does not choose among collectors here */
	asking->is_done = reply->ok && reply->matched;
	if (asking->is_done || reply->reason >= asking->reason) {
		free(asking->why);
		asking->why = TAKE(text);
		asking->reason = reply->reason;
	}
	free(text);
	/* REASON_NO_SESSION of collectord: it has none of that name. */
	asking->is_refused |= reply->reason != 1;
	return asking->is_done;
}

/* One of @name and @database is given. */
static enum owned_answer ask(
	const char *verb, const char *name, const char *database, char why[OWNED_WHY_BYTES])
{
	Rtl__CtlRequest body = RTL__CTL_REQUEST__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;
	struct asking asking = {0};
	struct ask_result result;
	int r;

	body.has_version_min = body.has_version_max = 1;
	body.version_min = PROTO_VERSION_MIN;
	body.version_max = PROTO_VERSION_MAX;
	msg_set_bytes(&body.has_verb, &body.verb, verb);
	if (name)
		msg_set_bytes(&body.has_session, &body.session, name);
	if (database)
		msg_set_bytes(&body.has_database, &body.database, database);
	frame.body_case = RTL__FRAME__BODY_CTL_REQUEST;
	frame.ctl_request = &body;
	r = ask_all(NULL, &frame, RTL__FRAME__BODY_CTL_REPLY, take_reply, &asking, &result);
	snprintf(why, OWNED_WHY_BYTES, "%s",
		r < 0	     ? "out of memory"
		: asking.why ? asking.why
			     : "");
	free(asking.why);
	return asking.is_done		    ? OWNED_DONE
	       : asking.is_refused || r < 0 ? OWNED_REFUSED
					    : OWNED_UNKNOWN;
}

/* True if the user means a file, and not the name of a session. */
static bool is_file(const char *name)
{
	struct stat st;

	return strchr(name, '/') || !lstat(name, &st);
}

/* The path without links in its folder; the file itself may be one. */
static char *absolute(const char *name)
{
	const char *slash = strrchr(name, '/');
	CLEANUP(free_p)
	char *folder = slash ? xstrndup(name, (size_t)(slash - name) + 1) : xstrdup(".");
	CLEANUP(free_p) char *real = folder ? realpath(folder, NULL) : NULL;
	char *path;

	if (!real || asprintf(&path, "%s/%s", strcmp(real, "/") ? real : "",
			     slash ? slash + 1 : name) < 0)
		return NULL;
	return path;
}

enum owned_answer owned_ask(
	const char *name, const char *verb, struct owned *owned, char why[OWNED_WHY_BYTES])
{
	enum owned_answer answer = OWNED_UNKNOWN;

	*owned = (struct owned){.name = name};
	if (!is_file(name)) {
		answer = ask(verb, name, NULL, why);
		owned->path = answer == OWNED_UNKNOWN ? find_of_user(name) : NULL;
	} else {
		owned->path = absolute(name);
	}
	if (owned->path && access(owned->path, F_OK) != 0)
		owned_done(owned);
	return owned->path ? ask(verb, NULL, owned->path, why) : answer;
}

/*
 * True if @path is STORE/UID/NAME of a store with an index, of another user: the service's, which
 * may be root's own files.
 */
static bool is_stored_for_another(const char *path)
{
	CLEANUP(free_p) char *folder = xstrdup(path);
	CLEANUP(free_p) char *index = NULL;
	char *slash = folder ? strrchr(folder, '/') : NULL;
	char own[16];

	if (!slash)
		return false;
	*slash = '\0';
	slash = strrchr(folder, '/');
	snprintf(own, sizeof(own), "%u", (unsigned)geteuid());
	if (!slash || !slash[1] || slash[1 + strspn(slash + 1, "0123456789")] ||
		!strcmp(slash + 1, own))
		return false;
	*slash = '\0';
	index = xasprintf("%s/index.db", folder);
	return !access(index, F_OK);
}

bool owned_check_file(const struct owned *owned, char why[OWNED_WHY_BYTES])
{
	struct stat st;
	const char *text = NULL;

	if (lstat(owned->path, &st))
		text = "no such file";
	else if (S_ISLNK(st.st_mode))
		text = "a link; name the file that it leads to";
	else if (S_ISDIR(st.st_mode))
		text = "a folder; name the files in it";
	else if (!S_ISREG(st.st_mode) || !query_file_is_ours(owned->path))
		text = "not a database of rtl; left alone";
	else if (st.st_uid != geteuid())
		text = "another user's; left alone";
	else if (is_stored_for_another(owned->path))
		text = "in the store of a collector; its owner removes it while that runs";
	if (text)
		snprintf(why, OWNED_WHY_BYTES, "%s", text);
	return !text;
}

/* ---- options -------------------------------------------------------------------------------- */

struct names {
	bool has_flag;
	const char **at;
	size_t count;
};

error_t owned_parse(int key, char *arg, struct argp_state *state)
{
	struct names *names = state->input;

	switch (key) {
	case 'f':
	case OWNED_FLAG:
		names->has_flag = true;
		return 0;
	case ARGP_KEY_ARG:
		if (!*arg)
			opts_error("a name is empty");
		names->at[names->count++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (!names->count)
			opts_error("needs the names of sessions, as rtl ls prints them, or files");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int owned_each(const struct argp *argp, int argc, char **argv,
	bool (*one)(const char *name, bool has_flag))
{
	CLEANUP(free_p) const char **at = xcalloc((size_t)argc, sizeof(*at));
	struct names names = {.at = at};
	bool is_done = true;

	if (!at) {
		say("out of memory");
		return CMD_BAD_INPUT;
	}
	opts_parse(argp, argc, argv, 0, &names);
	for (size_t i = 0; i < names.count; i++)
		is_done &= one(names.at[i], names.has_flag);
	return is_done ? CMD_OK : CMD_BAD_INPUT;
}

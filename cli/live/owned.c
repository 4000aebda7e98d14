// SPDX-License-Identifier: MIT
#include "cli/live/owned.h"

#include <limits.h>
#include <poll.h>
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
#include "cli/output/recording.h"
#include "proto/base/cleanup.h"
#include "proto/base/limits.h"

void owned_done(struct owned *owned)
{
	free(owned->path);
	owned->path = NULL;
}

/* CtlReply.reason of collectord (ctl_reply.h): it has no such session, and it is busy with another.
 */
#define REASON_NO_SESSION 1u
#define REASON_LATER	  8u
/* A process that reads the session's files can hold a removal up for ever. */
#define REMOVAL_MS_MAX	  10000u
#define REMOVAL_STEP_MS	  50

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
	asking->is_refused |= reply->reason != REASON_NO_SESSION;
	return asking->is_done;
}

/* One of @name and @database is given. Returns 0 or -ENOMEM. */
static int ask_once(const char *verb, const char *name, const char *database, struct asking *asking)
{
	Rtl__CtlRequest body = RTL__CTL_REQUEST__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;
	struct ask_result result;

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
	return ask_all(NULL, &frame, RTL__FRAME__BODY_CTL_REPLY, take_reply, asking, &result);
}

/*
 * Asks again while a removal of this user goes on, which takes the collector longer than it waits
 * where the machine is busy: of this session, until there is none of that name, or of another one.
 */
static enum owned_answer ask(
	const char *verb, const char *name, const char *database, char why[OWNED_WHY_BYTES])
{
	struct asking asking = {0};
	bool is_accepted = false;
	int r;

	for (unsigned ms = 0;; ms += REMOVAL_STEP_MS) {
		r = ask_once(verb, name, database, &asking);
		if (r == 0 && is_accepted && asking.reason == REASON_NO_SESSION) {
			free(asking.why);
			*why = '\0';
			return OWNED_DONE;
		}
		is_accepted |= asking.is_done;
		if (r < 0 || ms >= REMOVAL_MS_MAX ||
			!(asking.is_done ? asking.why && *asking.why
					 : asking.reason == REASON_LATER))
			break;
		free(asking.why);
		asking = (struct asking){0};
		(void)poll(NULL, 0, REMOVAL_STEP_MS);
	}
	/* The answer since may have been that another one is. */
	if (is_accepted && !asking.is_done) {
		free(asking.why);
		asking = (struct asking){
			.is_done = true, .why = strdup("its files are being removed")};
	}
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

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !strcmp(a, b) ||
	       (!stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

/* The newest session of a job of that name; the older ones are not called so. */
static const struct ask_match *newest_of_job(const struct ask_matches *matches)
{
	for (size_t i = 0; i < matches->count; i++)
		if (!matches->at[i].is_exact)
			return matches->at + i;
	return NULL;
}

/*
 * Returns a database that @name may mean beside the first one of @matches, or beside @file if there
 * are none: what is asked for cannot be undone. Root also sees sessions of other users, and of
 * those one of the same name counts, too.
 */
static const char *find_other(const struct ask_matches *matches, const char *file)
{
	const struct ask_match *first = matches->at, *of_job = newest_of_job(matches);

	if (!matches->count)
		return NULL;
	if (file && !is_same_file(first->database, file))
		return file;
	for (size_t i = 1; i < matches->count && first[i].is_exact; i++)
		for (size_t j = 0; j < i; j++)
			if (first[i].uid == first[j].uid &&
				!is_same_file(first[i].database, first[j].database))
				return first[i].database;
	return of_job && of_job != first && !is_same_file(of_job->database, first->database)
		       ? of_job->database
		       : NULL;
}

static enum owned_answer ask_by_name(
	const char *name, const char *verb, struct owned *owned, char why[OWNED_WHY_BYTES])
{
	CLEANUP(ask_matches_done) struct ask_matches matches = {0};
	CLEANUP(free_p) char *file = find_of_user(name);
	const struct ask_match *first;
	enum owned_answer answer;
	const char *other;

	ask_named(name, &matches);
	first = matches.at;
	other = find_other(&matches, file);
	if (other) {
		snprintf(why, OWNED_WHY_BYTES,
			"the name of more than one session; name one by its database, or as rtl ls "
			"--json does: %s (%s), %s",
			first->session, first->database, other);
		return OWNED_REFUSED;
	}
	/* The service lists it by its job, with a path that need not be seen here. */
	answer = first && !first->is_exact ? ask(verb, NULL, first->database, why)
					   : ask(verb, name, NULL, why);
	if (answer == OWNED_UNKNOWN)
		owned->path = file ? TAKE(file) : first ? xstrdup(first->database) : NULL;
	return answer;
}

enum owned_answer owned_ask(
	const char *name, const char *verb, struct owned *owned, char why[OWNED_WHY_BYTES])
{
	enum owned_answer answer = OWNED_UNKNOWN;

	*owned = (struct owned){.name = name};
	if (is_file(name))
		owned->path = absolute(name);
	else
		answer = ask_by_name(name, verb, owned, why);
	if (answer != OWNED_UNKNOWN)
		return answer;
	if (owned->path && access(owned->path, F_OK) != 0)
		owned_done(owned);
	return owned->path ? ask(verb, NULL, owned->path, why) : answer;
}

/* Removes the last component of @path and returns it; NULL if there is none. */
static char *cut_last(char *path)
{
	char *slash = path ? strrchr(path, '/') : NULL;

	if (!slash)
		return NULL;
	*slash = '\0';
	return slash + 1;
}

static bool is_number(const char *text)
{
	return text && *text && !text[strspn(text, "0123456789")];
}

static bool has_index(const char *folder)
{
	CLEANUP(free_p) char *index = NULL;

	if (asprintf(&index, "%s/index.db", folder) < 0) {
		index = NULL;
		return false;
	}
	return !access(index, F_OK);
}

/*
 * True if @path is STORE/UID/NAME of another user, or STORE/NUMBER/UID/NAME of a container, in a
 * store with an index: the service's, which may be root's own files.
 */
static bool is_stored_for_another(const char *path)
{
	CLEANUP(free_p) char *folder = strdup(path);
	const char *uid;
	char own[16];

	if (!cut_last(folder))
		return false;
	uid = cut_last(folder);
	if (!is_number(uid))
		return false;
	snprintf(own, sizeof(own), "%u", (unsigned)geteuid());
	if (strcmp(uid, own) && has_index(folder))
		return true;
	return is_number(cut_last(folder)) && has_index(folder);
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
	else if (!S_ISREG(st.st_mode) || !is_recording(owned->path))
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

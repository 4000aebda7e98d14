// SPDX-License-Identifier: MIT
/* rtl keep: excludes sessions of this user from retention. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
#include "cli/base/command.h"
#include "cli/base/message.h"
#include "cli/database/session/find_session.h"
#include "cli/database/session/private_runs.h"
#include "cli/database/query.h"
#include "cli/live/owned.h"
#include "proto/base/cleanup.h"

static const struct argp_option options[] = {
	{"off", OWNED_FLAG, NULL, 0, "keep them no longer", 0},
	{0},
};

static const struct argp parser = {options, owned_parse, "SESSION|FILE...",
	"Keep sessions of yours, live or closed: the service removes them neither for their age or "
	"number nor for room, and rtl ls lists private runs for ever.\v"
	"A user may keep 256 sessions, and half of --quota-disk, at the service. rtl ls shows "
	"which "
	"ones are kept. Exit status: 0; 1: one of them is not, and why.",
	NULL, NULL, NULL};

/* Returns the name of the first session of the file, allocated; NULL with @why. */
static char *session_of(const char *path, char why[OWNED_WHY_BYTES])
{
	CLEANUP(query_free_p) struct query *query = NULL;
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	const char *name = NULL;

	_Static_assert(QUERY_ERROR_BYTES <= OWNED_WHY_BYTES, "an error fits");
	if (query_open(path, why, &query))
		return NULL;
	if (!query_ask(query, "sessions", &rows) && query_next(rows) == 1)
		name = query_text(rows, 0);
	if (!name || !*name || *name == '.' || strchr(name, '/')) {
		snprintf(why, OWNED_WHY_BYTES, "it has no session yet");
		return NULL;
	}
	return xstrdup(name);
}

/* The list of those that are kept cannot be changed. */
static void tell_folder(int error, char why[OWNED_WHY_BYTES])
{
	CLEANUP(free_p) char *folder = find_private_folder(true);

	if (folder)
		snprintf(why, OWNED_WHY_BYTES, "%s: %s", folder, strerror(-error));
	else
		snprintf(why, OWNED_WHY_BYTES,
			"neither XDG_STATE_HOME nor HOME says where it is to be listed");
}

static bool keep_file(const struct owned *owned, bool is_kept, char why[OWNED_WHY_BYTES])
{
	CLEANUP(free_p) char *session = session_of(owned->path, why);
	int r;

	if (!session)
		return false;
	r = private_runs_keep(session, owned->path, is_kept);
	if (r == -EEXIST)
		snprintf(why, OWNED_WHY_BYTES, "another file is kept as session %.64s", session);
	else if (r)
		tell_folder(r, why);
	return !r;
}

/* False after the reason is printed. */
static bool keep_one(const char *name, bool is_off)
{
	CLEANUP(owned_done) struct owned owned = {0};
	char why[OWNED_WHY_BYTES] = "";
	enum owned_answer answer = owned_ask(name, is_off ? "release" : "keep", &owned, why);

	if (answer == OWNED_DONE)
		return true;
	if (answer == OWNED_UNKNOWN && !owned.path)
		snprintf(why, sizeof(why), "no session of yours, and no file; rtl ls lists them");
	else if (answer == OWNED_UNKNOWN && owned_check_file(&owned, why) &&
		 keep_file(&owned, !is_off, why))
		return true;
	say("keep: %s: %s", name, why);
	return false;
}

int cmd_keep(int argc, char **argv)
{
	return owned_each(&parser, argc, argv, keep_one);
}

// SPDX-License-Identifier: MIT
#include "cli/database/session/verb.h"

#include <stdlib.h>

#include "cli/base/command.h"
#include "cli/database/session/find_session.h"
#include "cli/base/message.h"
#include "proto/base/cleanup.h"

void verb_take_format(enum render_format *format, enum render_format wanted)
{
	if (*format != RENDER_TABLE && *format != wanted)
		opts_error("--json and --csv do not go together: give one of them");
	*format = wanted;
}

error_t verb_parse(int key, char *arg, struct verb *ret)
{
	switch (key) {
	case 'j':
		verb_take_format(&ret->format, RENDER_JSON);
		return 0;
	case 'c':
		verb_take_format(&ret->format, RENDER_CSV);
		return 0;
	case 's':
		ret->is_strict = true;
		return 0;
	default:
		return opts_file(key, arg, &ret->name);
	}
}

char *verb_newest(void)
{
	char *path = newest_database();

	if (path)
		say("%s: the newest database, as no FILE or SESSION is named", path);
	else
		say("no FILE or SESSION is named, and there is no database in this folder, nor a "
		    "session of yours; rtl run records one");
	return path;
}

int verb_open(const struct verb *verb, struct query **ret)
{
	CLEANUP(free_p) char *newest = verb->name ? NULL : verb_newest();
	const char *name = verb->name ? verb->name : newest;
	char error[QUERY_ERROR_BYTES];

	if (!name)
		return CMD_BAD_INPUT;
	if (!find_open(name, error, ret))
		return CMD_OK;
	say("%s", error);
	return CMD_BAD_INPUT;
}

int verb_fail(const struct query *query, const char *error)
{
	say("%s", error && error[0]	  ? error
		  : query_error(query)[0] ? query_error(query)
					  : "out of memory");
	return CMD_BAD_INPUT;
}

int verb_check(const struct verb *verb, const struct verdict *verdict)
{
	if (!verb->is_strict || (verdict->is_complete && !verdict->is_empty))
		return CMD_OK;
	say("--strict: %s", verdict->is_empty ? "nothing was dispatched" : verdict->line);
	return CMD_LOSSY;
}

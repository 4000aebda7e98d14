// SPDX-License-Identifier: MIT
#include "cli/run/output/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/run/job/launcher.h"
#include "cli/base/command.h"
#include "cli/base/message.h"
#include "cli/collector/places.h"

/* A name that is being made from its pattern. */
struct name {
	const char *pattern;
	const struct run_launch *launch;
	char *to; /* PATH_MAX bytes */
	size_t length;
};

static int append(struct name *name, const char *text, size_t length)
{
	if (length >= PATH_MAX - name->length) {
		say("%s: the path is too long", name->pattern);
		return CMD_RUN_FAILED;
	}
	memcpy(name->to + name->length, text, length);
	name->length += length;
	name->to[name->length] = '\0';
	return 0;
}

static int append_text(struct name *name, const char *text)
{
	return append(name, text, strlen(text));
}

static int append_number(struct name *name, unsigned long number)
{
	char text[24];

	snprintf(text, sizeof(text), "%lu", number);
	return append_text(name, text);
}

/* The same name as the database has for the host (collectord/loop/sessions/session.c). */
static int append_host(struct name *name)
{
	struct utsname host;

	if (uname(&host) < 0) {
		say("%s: %%h: %m", name->pattern);
		return CMD_RUN_FAILED;
	}
	return append_text(name, host.nodename);
}

/* The same text as in the name of the session, because a launcher's key may contain slashes. */
static int append_job(struct name *name)
{
	char job[PLACES_NAME_BYTES];

	places_session_name(name->launch->job, job);
	return append_text(name, job);
}

static int append_rank(struct name *name)
{
	const struct rank_number *rank = &name->launch->rank.rank;

	if (rank->is_known)
		return append_number(name, rank->value);
	say("%s: %%r: no launcher gave this rtl run a rank; use %%p, or set RTL_RANK",
		name->pattern);
	return CMD_RUN_FAILED;
}

/* @at points behind "%q" and is moved behind its "{VARIABLE}". */
static int append_variable(struct name *name, const char **at)
{
	const char *end = **at == '{' ? strchr(*at, '}') : NULL;
	char variable[256];
	const char *value;
	int length;

	if (!end || end == *at + 1 || end - *at > (int)sizeof(variable)) {
		say("%s: %%q needs the name of a variable in braces, as in %%q{HOME}",
			name->pattern);
		return CMD_RUN_FAILED;
	}
	length = (int)(end - *at - 1);
	snprintf(variable, sizeof(variable), "%.*s", length, *at + 1);
	*at = end + 1;
	value = getenv(variable);
	if (value)
		return append_text(name, value);
	say("%s: %%q{%s}: this environment variable is not set", name->pattern, variable);
	return CMD_RUN_FAILED;
}

/* @at points behind the "%" and is moved behind the field. */
static int append_field(struct name *name, const char **at)
{
	const char *field = (*at)++;
	int length;

	switch (*field) {
	case '%':
		return append_text(name, "%");
	case 'p':
		return append_number(name, (unsigned long)getpid());
	case 'h':
		return append_host(name);
	case 'j':
		return append_job(name);
	case 'r':
		return append_rank(name);
	case 'q':
		return append_variable(name, at);
	default:
		/* The whole of a character of several bytes. */
		for (length = *field != 0; (field[length] & 0xc0) == 0x80;)
			length++;
		say("%s: %%%.*s is unknown; known are %%p %%h %%j %%r %%q{VARIABLE}, and %%%% for "
		    "a percent sign",
			name->pattern, length, field);
		return CMD_RUN_FAILED;
	}
}

int run_output_expand(const char *pattern, const struct run_launch *launch, char ret[PATH_MAX])
{
	struct name name = {.pattern = pattern, .launch = launch, .to = ret};
	int r = 0;

	ret[0] = '\0';
	while (r == 0 && *pattern) {
		size_t plain = strcspn(pattern, "%");

		r = append(&name, pattern, plain);
		pattern += plain;
		if (r || !*pattern)
			break;
		pattern++;
		r = append_field(&name, &pattern);
	}
	return r;
}

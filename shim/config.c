/* SPDX-License-Identifier: MIT */
#include "shim/config.h"

#include <stddef.h>
#include <string.h>

const struct config_variable config_variables[] = {
	{"RTL_SOCKET", "path of the collector's socket"},
	{"RTL_MODE", "off: record nothing; anything else is noted in the database"},
	{"RTL_DEBUG", "1: say on stderr what the shim does; 2: say more"},
	{"RTL_EXIT_MS", "how long the end of the program may be held for its last records; 50"},
	{NULL, NULL},
};

/* What is recorded when nobody asked for something else. */
#define CONFIG_MODE_DEFAULT "standard"

enum { CONFIG_SOCKET, CONFIG_MODE, CONFIG_DEBUG, CONFIG_EXIT_MS };

/* More than that is a mistake in the unit. */
#define EXIT_MS_MAX 600000u

static const char *variable_find(const char *const *environment, int index)
{
	const char *name = config_variables[index].name;
	size_t length = strlen(name);

	for (; environment && *environment; environment++)
		if (!strncmp(*environment, name, length) && (*environment)[length] == '=')
			return *environment + length + 1;
	return "";
}

static void text_copy(char *to, size_t capacity, const char *from)
{
	size_t bytes = strlen(from);

	if (bytes > capacity - 1)
		bytes = capacity - 1;
	memcpy(to, from, bytes);
	to[bytes] = '\0';
}

/* Plain decimal milliseconds; anything else is the default. */
static uint64_t exit_parse(const char *text)
{
	uint64_t ms = 0;

	if (!*text)
		return EXIT_NS_MAX;
	for (; *text >= '0' && *text <= '9' && ms <= EXIT_MS_MAX; text++)
		ms = ms * 10 + (uint64_t)(*text - '0');
	return *text || ms > EXIT_MS_MAX ? EXIT_NS_MAX : ms * 1000000u;
}

void config_read(const char *const *environment, struct config *ret)
{
	const char *debug = variable_find(environment, CONFIG_DEBUG);

	memset(ret, 0, sizeof(*ret));
	text_copy(ret->socket, sizeof(ret->socket), variable_find(environment, CONFIG_SOCKET));
	text_copy(ret->mode, sizeof(ret->mode), variable_find(environment, CONFIG_MODE));
	if (!ret->mode[0])
		text_copy(ret->mode, sizeof(ret->mode), CONFIG_MODE_DEFAULT);
	if (debug[0] == '1' || debug[0] == '2')
		ret->debug = (unsigned)(debug[0] - '0');
	ret->exit_ns = exit_parse(variable_find(environment, CONFIG_EXIT_MS));
	ret->is_off = !strcmp(ret->mode, "off");
}

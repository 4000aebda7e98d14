/* SPDX-License-Identifier: MIT */
#include "shim/config.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

const struct config_variable config_variables[] = {
	{"RTL_SOCKET", "path of the collector's socket"},
	{"RTL_MODE", "what to record: lite, standard, full, hip or off"},
	{"RTL_FRONT_END", "how queues are followed: auto, shadow, intercept or none"},
	{"RTL_DEBUG", "1: say on stderr what the shim does; 2: say more"},
	{"RTL_EXIT_MS", "how long the end of the program may be held for its last records; 50"},
	{NULL, NULL},
};

enum { CONFIG_SOCKET, CONFIG_MODE, CONFIG_FRONT_END, CONFIG_DEBUG, CONFIG_EXIT_MS };

/* More than that is a mistake in the unit. */
#define EXIT_MS_MAX 600000u

static _Atomic uint32_t capabilities;

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

/* A mistyped mode is no reason to record nothing. */
static void mode_read(const char *name, struct config *ret)
{
	uint32_t has;

	ret->mode = mode_find(name);
	if (!ret->mode) {
		text_copy(ret->unknown_mode, sizeof(ret->unknown_mode), name);
		ret->mode = mode_find(MODE_DEFAULT);
	}
	has = ret->mode->capabilities;
	ret->is_off = has == MODE_OFF;
	atomic_store_explicit(&capabilities, ret->is_off ? 0 : has, memory_order_relaxed);
}

static void front_end_read(const char *name, struct config *ret)
{
	static const char *const names[] = {
		[FRONT_END_AUTO] = "auto",
		[FRONT_END_SHADOW] = "shadow",
		[FRONT_END_INTERCEPT] = "intercept",
		[FRONT_END_INTERCEPT_UNSAFE] = "intercept-unsafe",
		[FRONT_END_NONE] = "none",
	};

	ret->front_end = FRONT_END_AUTO;
	if (!*name)
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i])) {
			ret->front_end = (enum front_end_wish)i;
			return;
		}
	text_copy(ret->unknown_front_end, sizeof(ret->unknown_front_end), name);
}

bool config_has(enum mode_capability capability)
{
	return atomic_load_explicit(&capabilities, memory_order_relaxed) & capability;
}

void config_read(const char *const *environment, struct config *ret)
{
	const char *debug = variable_find(environment, CONFIG_DEBUG);

	memset(ret, 0, sizeof(*ret));
	text_copy(ret->socket, sizeof(ret->socket), variable_find(environment, CONFIG_SOCKET));
	mode_read(variable_find(environment, CONFIG_MODE), ret);
	front_end_read(variable_find(environment, CONFIG_FRONT_END), ret);
	if (debug[0] == '1' || debug[0] == '2')
		ret->debug = (unsigned)(debug[0] - '0');
	ret->exit_ns = exit_parse(variable_find(environment, CONFIG_EXIT_MS));
}

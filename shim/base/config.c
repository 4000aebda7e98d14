/* SPDX-License-Identifier: MIT */
#include "shim/base/config.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "proto/settings/environment.h"

const struct config_variable config_variables[] = {
	{"RTL_SOCKET", "path of the collector's socket"},
	{"RTL_MODE", "what to record: lite, standard, full, hip, barriers, all or off"},
	{"RTL_FRONT_END", "how queues are followed: auto, shadow, intercept or none"},
	{"RTL_RINGS", "rings in a GPU's memory: host (made in host memory) or keep"},
	{VARIABLE_RINGS_MOVED, "of rtl run: by which variables it has moved rings, hsa and clr"},
	{"RTL_THREAD", "no: no thread and no socket in the program; yes"},
	{"RTL_DEBUG", "1: say on stderr what the shim does; 2: say more"},
	{"RTL_EXIT_MS", "how long the end of the program may be held for its last records; 50"},
	{"RTL_PRELOAD", "set by rtl: it has put the shim into LD_PRELOAD, too"},
	{NULL, NULL},
};

enum {
	CONFIG_SOCKET,
	CONFIG_MODE,
	CONFIG_FRONT_END,
	CONFIG_RINGS,
	CONFIG_RINGS_MOVED,
	CONFIG_THREAD,
	CONFIG_DEBUG,
	CONFIG_EXIT_MS,
	CONFIG_PRELOAD
};

#define REMEMBERED_BYTES 2048 /* a socket's path and a few words */

static _Atomic uint32_t capabilities;

/* "NAME=value" of the variables above, as they were when the process started. */
static char remembered_text[REMEMBERED_BYTES];
static const char *remembered[sizeof(config_variables) / sizeof(*config_variables)];

static const char *value_of(const char *const *environment, const char *name)
{
	size_t length = strlen(name);

	for (; environment && *environment; environment++)
		if (!strncmp(*environment, name, length) && (*environment)[length] == '=')
			return *environment + length + 1;
	return "";
}

static const char *variable_find(const char *const *environment, int index)
{
	return value_of(environment, config_variables[index].name);
}

static void text_copy(char *to, size_t capacity, const char *from)
{
	size_t bytes = strlen(from);

	if (bytes > capacity - 1)
		bytes = capacity - 1;
	memcpy(to, from, bytes);
	to[bytes] = '\0';
}

void config_remember(const char *const *environment)
{
	size_t used = 0, count = 0;

	for (const struct config_variable *v = config_variables; v->name; v++) {
		const char *value = value_of(environment, v->name);
		size_t room = sizeof(remembered_text) - used;
		size_t bytes = strlen(v->name) + 1 + strlen(value) + 1;

		if (!*value || bytes > room)
			continue;
		snprintf(remembered_text + used, room, "%s=%s", v->name, value);
		remembered[count++] = remembered_text + used;
		used += bytes;
	}
	remembered[count] = NULL;
}

/* An unknown mode falls back to the default: a typo is no reason to record nothing. */
static void mode_read(const char *name, struct config *ret)
{
	uint32_t has;

	ret->mode = mode_find(name);
	if (!ret->mode)
		ret->mode = mode_find(MODE_DEFAULT);
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
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			ret->front_end = (enum front_end_wish)i;
}

/* Only one line can be printed, so it names the first bad value. */
static void complain(const char *const *environment, struct config *ret)
{
	char why[VARIABLE_WHY_BYTES];

	for (const struct variable *v = variables; v->name && !ret->complaint[0]; v++)
		if (variable_check(v->name, value_of(environment, v->name), why))
			snprintf(ret->complaint, sizeof(ret->complaint), "%s; %s", why, v->instead);
}

bool config_has(enum mode_capability capability)
{
	return atomic_load_explicit(&capabilities, memory_order_relaxed) & capability;
}

void config_read(const char *const *environment, struct config *ret)
{
	const char *moved;
	uint64_t number;

	memset(ret, 0, sizeof(*ret));
	/* If the program has cleared its environment, the values at its start still apply. */
	if (!*variable_find(environment, CONFIG_SOCKET) &&
		*variable_find(remembered, CONFIG_SOCKET))
		environment = remembered;
	text_copy(ret->socket, sizeof(ret->socket), variable_find(environment, CONFIG_SOCKET));
	mode_read(variable_find(environment, CONFIG_MODE), ret);
	front_end_read(variable_find(environment, CONFIG_FRONT_END), ret);
	ret->keeps_rings = !strcmp(variable_find(environment, CONFIG_RINGS), VARIABLE_RINGS_KEEP);
	moved = variable_find(environment, CONFIG_RINGS_MOVED);
	ret->is_moved_by_hsa = strstr(moved, VARIABLE_RINGS_MOVED_HSA);
	ret->is_moved_by_clr = strstr(moved, VARIABLE_RINGS_MOVED_CLR);
	ret->is_alone = !strcmp(variable_find(environment, CONFIG_THREAD), VARIABLE_THREAD_NO);
	if (!variable_number(variable_find(environment, CONFIG_DEBUG), 2, &number))
		ret->debug = (unsigned)number;
	ret->exit_ns = EXIT_NS_MAX;
	if (!variable_number(
		    variable_find(environment, CONFIG_EXIT_MS), VARIABLE_EXIT_MS_MAX, &number))
		ret->exit_ns = number * 1000000u;
	ret->is_preload_asked_for = *variable_find(environment, CONFIG_PRELOAD);
	complain(environment, ret);
}

/* SPDX-License-Identifier: MIT */
#include "proto/settings/environment.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "proto/names/mode.h"

/* Number of bytes of a bad value that a message shows. */
#define SHOWN_BYTES 40u

enum variable_key { MODE, FRONT_END, RINGS, THREAD, DEBUG, EXIT_MS, RANK, LOCAL_RANK };

const struct variable variables[] = {
	[MODE] = {"RTL_MODE", "lite, standard, full, hip, barriers, all or off",
		"recording as " MODE_DEFAULT},
	[FRONT_END] = {"RTL_FRONT_END", "auto, shadow, intercept or none",
		"it is chosen as without it"},
	[RINGS] = {"RTL_RINGS", "host or keep", "rings are made in host memory"},
	[THREAD] = {"RTL_THREAD", "yes or no", "the shim makes its thread"},
	[DEBUG] = {"RTL_DEBUG", "0, 1 or 2", "taken for 0"},
	[EXIT_MS] = {"RTL_EXIT_MS", "milliseconds, from 0 to 600000", "50 are taken"},
	[RANK] = {"RTL_RANK", "a rank, from 0 to 4294967295", "the launcher's word is taken"},
	[LOCAL_RANK] = {"RTL_LOCAL_RANK", "a rank, from 0 to 4294967295",
		"the launcher's word is taken"},
	{NULL, NULL, NULL},
};

int variable_number(const char *text, uint64_t most, uint64_t *ret)
{
	uint64_t value = 0;

	if (!*text)
		return -EINVAL;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return -EINVAL;
		value = value * 10 + (uint64_t)(*text - '0');
		if (value > most)
			return -EINVAL;
	}
	*ret = value;
	return 0;
}

static bool is_one_of(const char *text, const char *const *names)
{
	for (; *names; names++)
		if (!strcmp(text, *names))
			return true;
	return false;
}

static bool is_good(enum variable_key key, const char *text)
{
	static const char *const front_ends[] = {
		"auto", "shadow", "intercept", "intercept-unsafe", "none", NULL};
	static const char *const rings[] = {"host", VARIABLE_RINGS_KEEP, NULL};
	static const char *const thread[] = {"yes", VARIABLE_THREAD_NO, NULL};
	static const char *const levels[] = {"0", "1", "2", NULL};
	uint64_t number;

	switch (key) {
	case MODE:
		return mode_find(text);
	case FRONT_END:
		return is_one_of(text, front_ends);
	case RINGS:
		return is_one_of(text, rings);
	case THREAD:
		return is_one_of(text, thread);
	case DEBUG:
		return is_one_of(text, levels);
	case EXIT_MS:
		return !variable_number(text, VARIABLE_EXIT_MS_MAX, &number);
	case RANK:
	case LOCAL_RANK:
		return !variable_number(text, UINT32_MAX, &number);
	}
	return true;
}

const struct variable *variable_check(
	const char *name, const char *text, char why[VARIABLE_WHY_BYTES])
{
	char shown[SHOWN_BYTES + 1];
	size_t bytes = 0;

	for (size_t key = 0; variables[key].name; key++) {
		if (strcmp(variables[key].name, name))
			continue;
		if (!*text || is_good((enum variable_key)key, text))
			return NULL;
		for (; text[bytes] && bytes < SHOWN_BYTES; bytes++)
			shown[bytes] = text[bytes] >= ' ' && text[bytes] <= '~' ? text[bytes] : '?';
		shown[bytes] = '\0';
		snprintf(why, VARIABLE_WHY_BYTES, "%s=%s%s is not %s", name, shown,
			text[bytes] ? "..." : "", variables[key].expected);
		return &variables[key];
	}
	return NULL;
}

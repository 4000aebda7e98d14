/* SPDX-License-Identifier: MIT */
#include "proto/settings/selection.h"

#include <errno.h>
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "proto/settings/regex_cost.h"

#define DURATION_NS_MAX	    (10ull * 366 * 24 * 3600 * 1000000000ull)
#define DURATION_DIGITS_MAX 9 /* behind the point */
#define STEPS_MAX	    1000000000u
/* Prints a wrong text, cut so that the message has room for what is wrong with it. */
#define TEXT		    "%.120s"

#define CHOICE_ROW(key, option, variable, arg, help) [key] = {option, variable, arg, help},
const struct choice_option choice_options[CHOICE_COUNT] = {CHOICE_OPTIONS(CHOICE_ROW)};
#undef CHOICE_ROW

static int bad(char why[CHOICE_WHY_BYTES], const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static int bad(char why[CHOICE_WHY_BYTES], const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(why, CHOICE_WHY_BYTES, format, args); /* a cut line is still a line */
	va_end(args);
	return -EINVAL;
}

/* Decimal digits at *@at, which moves past them. 0; -EINVAL: none, or above @most. */
static int number_take(const char **at, uint64_t most, uint64_t *ret)
{
	const char *p = *at;
	uint64_t value = 0;

	if (*p < '0' || *p > '9')
		return -EINVAL;
	for (; *p >= '0' && *p <= '9'; p++) {
		value = value * 10 + (uint64_t)(*p - '0');
		if (value > most)
			return -EINVAL;
	}
	*at = p;
	*ret = value;
	return 0;
}

int choice_parse_list(const char *text, struct choice_list *ret)
{
	struct choice_list list = {0};
	uint64_t first, last;

	for (;;) {
		if (list.count == CHOICE_RANGES_MAX || number_take(&text, UINT32_MAX - 1, &first))
			return -EINVAL;
		last = first;
		if (*text == '-') {
			text++;
			if (number_take(&text, UINT32_MAX - 1, &last) || last < first)
				return -EINVAL;
		}
		list.range[list.count++] = (struct choice_range){(uint32_t)first, (uint32_t)last};
		if (!*text)
			break;
		if (*text++ != ',')
			return -EINVAL;
	}
	*ret = list;
	return 0;
}

bool choice_has(const struct choice_list *list, uint32_t number)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (number >= list->range[i].first && number <= list->range[i].last)
			return true;
	return !list->count;
}

int choice_parse_duration(const char *text, uint64_t *ret_ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{"", 1000000000u},
		{"s", 1000000000u},
		{"ms", 1000000u},
		{"us", 1000u},
		{"ns", 1u},
		{"m", 60000000000u},
		{"h", 3600000000000u},
	};
	uint64_t whole, part = 0, scale = 1, unit_ns = 0, ns;

	if (number_take(&text, DURATION_NS_MAX, &whole))
		return -EINVAL;
	if (*text == '.') {
		const char *digits = ++text;

		if (number_take(&text, 999999999u, &part))
			return -EINVAL;
		/* Counted first: ten multiplied 64 times with itself is 0. */
		if (text - digits > DURATION_DIGITS_MAX)
			return -EINVAL;
		for (; digits < text; digits++)
			scale *= 10;
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (!strcmp(text, units[i].name))
			unit_ns = units[i].ns;
	if (!unit_ns || whole > DURATION_NS_MAX / unit_ns)
		return -EINVAL;
	/* Both factors of the product are below 2^43 and 2^30. */
	ns = whole * unit_ns + (uint64_t)((unsigned __int128)part * unit_ns / scale);
	if (!ns || ns > DURATION_NS_MAX)
		return -EINVAL;
	*ret_ns = ns;
	return 0;
}

static int steps_parse(const char *text, struct choice_steps *ret)
{
	uint64_t value[4] = {0};

	for (int i = 0; i < 4; i++) {
		if (number_take(&text, STEPS_MAX, &value[i]))
			return -EINVAL;
		if (!*text && i >= 2)
			break; /* without REPEAT: for ever */
		if (*text != (i < 3 ? ':' : '\0'))
			return -EINVAL;
		text += i < 3;
	}
	if (!value[2])
		return -EINVAL;
	*ret = (struct choice_steps){
		(uint32_t)value[0], (uint32_t)value[1], (uint32_t)value[2], (uint32_t)value[3]};
	return 0;
}

static int regex_check(const char *text, char why[CHOICE_WHY_BYTES])
{
	const char *trouble = pattern_trouble(text);
	regex_t regex;
	char reason[128];
	int r;

	if (trouble)
		return bad(why, TEXT ": %s", text, trouble);
	r = regcomp(&regex, text, REG_EXTENDED | REG_NOSUB);

	if (!r) {
		regfree(&regex);
		return 0;
	}
	regerror(r, &regex, reason, sizeof(reason));
	return bad(why, TEXT ": %s", text, reason);
}

int choice_set(
	struct choice *choice, enum choice_key key, const char *text, char why[CHOICE_WHY_BYTES])
{
	const char **regex = key == CHOICE_KERNELS  ? &choice->kernels
			     : key == CHOICE_REGION ? &choice->region
						    : &choice->step_marker;

	switch (key) {
	case CHOICE_RANKS:
	case CHOICE_GPUS:
		if (choice_parse_list(text, key == CHOICE_RANKS ? &choice->ranks : &choice->gpus))
			return bad(why, TEXT ": not a list of numbers like 0,3-5", text);
		return 0;
	case CHOICE_START_AFTER:
	case CHOICE_DURATION:
		if (choice_parse_duration(text, key == CHOICE_DURATION ? &choice->duration_ns
								       : &choice->start_after_ns))
			return bad(why, TEXT ": not a time like 10, 1.5, 500ms or 2m", text);
		return 0;
	case CHOICE_STEPS:
		if (steps_parse(text, &choice->steps))
			return bad(why,
				TEXT
				": not WAIT:WARMUP:ACTIVE:REPEAT, four numbers, ACTIVE at least "
				"1",
				text);
		return 0;
	case CHOICE_DORMANT:
		if (strcmp(text, "0") && strcmp(text, "1"))
			return bad(why, TEXT ": neither 1 nor 0", text);
		choice->is_dormant = *text == '1';
		return 0;
	default:
		*regex = text;
		return regex_check(text, why);
	}
}

int choice_check(const struct choice *choice, char why[CHOICE_WHY_BYTES])
{
	if (choice->is_dormant && choice->start_after_ns)
		return bad(why, "dormant waits for rtl ctl start: start-after does not go with it");
	if (choice->step_marker && !choice->steps.active)
		return bad(why, "step-marker is for steps, which is not given");
	return 0;
}

static const char *variable_find(const char *const *environment, const char *name)
{
	size_t length = strlen(name);

	for (; environment && *environment; environment++)
		if (!strncmp(*environment, name, length) && (*environment)[length] == '=')
			return *environment + length + 1;
	return "";
}

int choice_read(const char *const *environment, struct choice *ret, char why[CHOICE_WHY_BYTES])
{
	struct choice choice = {0};
	int r = 0;

	for (int i = 0; !r && i < CHOICE_COUNT; i++) {
		const char *name = choice_options[i].variable;
		const char *text = variable_find(environment, name);
		char reason[CHOICE_WHY_BYTES];

		if (!*text)
			continue;
		r = choice_set(&choice, (enum choice_key)i, text, reason);
		if (r)
			bad(why, "%s=%.200s", name, reason);
	}
	if (!r)
		r = choice_check(&choice, why);
	*ret = r ? (struct choice){0} : choice;
	return r;
}

/* SPDX-License-Identifier: MIT */
#include "proto/names/control.h"

#include <stddef.h>

const char *control_why_name(unsigned why)
{
	static const char *const names[CONTROL_WHY_COUNT] = {
		[CONTROL_WHY_START] = "start",
		[CONTROL_WHY_TIME] = "time",
		[CONTROL_WHY_STEPS] = "steps",
		[CONTROL_WHY_CONTROL] = "control",
		[CONTROL_WHY_PROGRAM] = "program",
	};

	return why < CONTROL_WHY_COUNT ? names[why] : NULL;
}

/* The most lasting reason first. */
static const struct {
	uint32_t closed;
	const char *name, *text;
} states[] = {
	{CONTROL_RANK_OUT, "left out", "left out by --ranks"},
	{CONTROL_DORMANT, "dormant", "dormant"},
	{CONTROL_PROGRAM, "paused", "paused by the program"},
	{CONTROL_TIME, "off time", "outside of --start-after and --duration"},
	{CONTROL_STEPS, "off step", "between its steps"},
};

#define STATES (sizeof(states) / sizeof(states[0]))

const char *control_state_name(uint32_t closed)
{
	for (unsigned i = 0; i < STATES; i++)
		if (closed & states[i].closed)
			return states[i].name;
	return "yes";
}

const char *control_state_text(uint32_t closed)
{
	for (unsigned i = 0; i < STATES; i++)
		if (closed & states[i].closed)
			return states[i].text;
	return "records";
}

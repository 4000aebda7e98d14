/* SPDX-License-Identifier: MIT */
#include "proto/control.h"

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

const char *control_state_text(uint32_t closed)
{
	if (closed & CONTROL_RANK_OUT)
		return "left out by --ranks";
	if (closed & CONTROL_DORMANT)
		return "dormant";
	if (closed & CONTROL_PROGRAM)
		return "paused by the program";
	if (closed & CONTROL_TIME)
		return "outside of --start-after and --duration";
	if (closed & CONTROL_STEPS)
		return "between its steps";
	return "records";
}

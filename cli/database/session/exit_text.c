// SPDX-License-Identifier: MIT
#include "cli/database/session/exit_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void ended_describe(
	const char *ended, bool has_status, int64_t status, bool is_in_use, char ret[ENDED_BYTES])
{
	if (!ended)
		snprintf(ret, ENDED_BYTES, is_in_use ? "live" : "unknown");
	else if (!has_status)
		snprintf(ret, ENDED_BYTES, "%s", ended);
	else if (!strcmp(ended, "killed") && status > 128)
		snprintf(ret, ENDED_BYTES, "killed by %" PRId64, status - 128);
	else
		snprintf(ret, ENDED_BYTES, "%s %" PRId64, ended, status);
}

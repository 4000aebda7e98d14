// SPDX-License-Identifier: MIT
/* A private run is in the list of its user's private runs: rtl ls and the verbs find it there. */
#include <string.h>

#include "cli/database/session/private_runs.h"
#include "cli/run/collector/collector.h"

void run_list_private(const struct run_collector *collector)
{
	const char *path = collector->publish[0] ? collector->publish : collector->database;

	if (!collector->is_private || !collector->session[0] || path[0] != '/')
		return;
	private_runs_add(collector->session, path);
	/* A launch's session has a name of its own, and is found by that of the user, too. */
	if (collector->options->name && strcmp(collector->options->name, collector->session) != 0)
		private_runs_add(collector->options->name, path);
}

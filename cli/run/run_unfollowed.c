// SPDX-License-Identifier: MIT
/*
 * Tells why kernels of a command are in no count, from what its processes reported when they
 * started. The last lines of a job that used a GPU and has nothing recorded tell what to do about
 * it.
 */
#include <inttypes.h>
#include <string.h>

#include "cli/base/message.h"
#include "cli/run/run.h"
#include "proto/base/cleanup.h"

#define NONE "none: "

static void say_queues(const struct query_rows *rows)
{
	int64_t queues = query_integer(rows, 1), processes = query_integer(rows, 2);
	const char *front_end = query_text(rows, 0);

	if (!front_end)
		front_end = "the process did not say why";
	if (!strncmp(front_end, NONE, strlen(NONE)))
		front_end += strlen(NONE);
	say("%" PRId64 " queue%s of %" PRId64
	    " process%s not followed, whose kernels are not recorded: %s",
		queues, queues == 1 ? "" : "s", processes, processes == 1 ? "" : "es", front_end);
}

void run_say_unfollowed(struct query *query, const struct verdict *verdict)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;

	if (verdict->counts.runtimes_ignored)
		say("an HSA runtime was not followed: it was the second one of its process, or "
		    "another "
		    "tool put its tables back as they were before rtl");
	if (!verdict->counts.queues_ineligible || query_ask(query, "unfollowed", &rows) < 0)
		return;
	while (query_next(rows) > 0)
		say_queues(rows);
}

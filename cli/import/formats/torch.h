/* SPDX-License-Identifier: MIT */
#pragma once
/* Shared by torch.c, which reads the text of a trace, and torch_events.c, which interprets the
 * events. */
#include "cli/import/formats/torch_event.h"
#include "cli/import/rows/trace_process.h"

struct torch {
	struct import_store *store;
	char *text;	   /* texts of the current event; TORCH_TEXT_BYTES long */
	const char *why;   /* reason of -EBADMSG; a constant */
	int64_t latest_ns; /* latest start of all events, without the base */
	bool has_python;
};

/* Adds @event to @process. Returns 0, -EBADMSG with the reason in @torch->why, or -errno as
 * import_store_fail() does. */
int torch_take(struct torch *torch, struct trace_process *process, const struct torch_event *event);

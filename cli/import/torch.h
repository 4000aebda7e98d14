/* SPDX-License-Identifier: MIT */
#pragma once
/* Between torch.c, which reads the text of a trace, and torch_events.c, which knows what an event
 * means. */
#include "cli/import/torch_event.h"
#include "cli/import/trace_process.h"

struct torch {
	struct import_store *store;
	char *text;	   /* of the event at hand; TORCH_TEXT_BYTES */
	const char *why;   /* of -EBADMSG; lives on */
	int64_t latest_ns; /* of all begins, without the base */
	bool has_python;
};

/* What @event is becomes part of @process. -EBADMSG: @torch->why; else as import_store_fail(). */
int torch_take(struct torch *torch, struct trace_process *process, const struct torch_event *event);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Asynchronous copies of the HSA runtime (docs/recorder.md, 8): a record of each when it was
 * submitted and, where the mode has COPY_TIMES, a second one of when it ran. The hooks call it
 * around the runtime's functions, on any application thread; never on the dispatch path. The
 * completion signal is the caller's, and only read.
 */
#include <stdbool.h>
#include <stdint.h>

#include "proto/names/copies.h"
#include "shim/hsa/agents.h"
#include "shim/hsa/table.h"

/* What is needed for ever, once; constant afterwards. */
struct copies_setup {
	const struct hsa_table *table;
	const struct agents *agents;
	bool is_timed;
};

void copies_begin(const struct copies_setup *setup);
/* OnUnload, before events_stop(): what still runs stays without times. */
void copies_end(void);
/* The runtime has to go on timing copies, whatever the program tells it. */
bool copies_are_timed(void);

/* One copy on its way through a hook. */
struct copy {
	enum rtl_copy_how how;
	int32_t source; /* places */
	int32_t target;
	uint64_t bytes;
	uint32_t engine;
	hsa_signal_t completion;
	/* copy_begin()'s. */
	uint64_t id;
	uint64_t submit_ns;
	bool is_chosen; /* the user did not leave it out */
};

struct copy copy_linear(enum rtl_copy_how how, const void *target, hsa_agent_t target_agent,
	const void *source, hsa_agent_t source_agent, uint64_t bytes, hsa_signal_t completion);
struct copy copy_rect(const hsa_pitched_ptr_t *target, const hsa_pitched_ptr_t *source,
	const hsa_dim3_t *range, hsa_agent_t agent, hsa_amd_copy_direction_t direction,
	hsa_signal_t completion);

/* Around the runtime's function. @ok: it said that it will be done. */
void copy_begin(struct copy *copy);
void copy_end(struct copy *copy, bool ok);

/* The same for every copy of a batch. */
struct copy_batch {
	const struct hsa_table_copy_op *ops;
	uint32_t count;
	uint64_t first_id;
	uint64_t submit_ns;
};

struct copy_batch copy_batch_begin(const struct hsa_table_copy_op *ops, uint32_t count);
void copy_batch_end(const struct copy_batch *batch, bool ok);

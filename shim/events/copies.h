/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Asynchronous copies of the HSA runtime (docs/recorder.md, section 8). Each has a record of its
 * submission and, if the mode has COPY_TIMES, a second record of its times. The hooks call this
 * around the runtime's functions, on any application thread; never on the dispatch path. The
 * completion signal belongs to the program and is only read.
 */
#include <stdbool.h>
#include <stdint.h>

#include "proto/names/copies.h"
#include "shim/hsa/agents.h"
#include "shim/hsa/table.h"

/* Set once by copies_begin(); constant afterwards. */
struct copies_setup {
	const struct hsa_table *table;
	const struct agents *agents;
	bool is_timed;
};

void copies_begin(const struct copies_setup *setup);
/* Called in OnUnload, before events_stop(). Copies that still run remain without times. */
void copies_end(void);
/* Whether the runtime must keep timing copies even if the program turns that off. */
bool copies_are_timed(void);

/* One copy while a hook handles it. */
struct copy {
	enum rtl_copy_how how;
	int32_t source; /* source and target are places: an agent's index or RTL_COPY_PLACE_* */
	int32_t target;
	uint64_t bytes;
	uint32_t engine;
	hsa_signal_t completion;
	uint32_t deps; /* signals that it waits for; set by the hook */
	const hsa_signal_t *dep;
	/* The rest is set by copy_begin(). */
	uint64_t id;
	uint64_t submit_ns;
	bool is_chosen; /* selected by the user's options */
};

struct copy copy_linear(enum rtl_copy_how how, const void *target, hsa_agent_t target_agent,
	const void *source, hsa_agent_t source_agent, uint64_t bytes, hsa_signal_t completion);
struct copy copy_rect(const hsa_pitched_ptr_t *target, const hsa_pitched_ptr_t *source,
	const hsa_dim3_t *range, hsa_agent_t agent, hsa_amd_copy_direction_t direction,
	hsa_signal_t completion);

/*
 * The hook calls these before and after the runtime's function. @ok: the runtime accepted the copy.
 */
void copy_begin(struct copy *copy);
void copy_end(struct copy *copy, bool ok);

/* The same for the copies of a batch. */
struct copy_batch {
	const struct hsa_table_copy_op *ops;
	uint32_t count;
	uint64_t first_id;
	uint64_t submit_ns;
};

struct copy_batch copy_batch_begin(const struct hsa_table_copy_op *ops, uint32_t count);
void copy_batch_end(const struct copy_batch *batch, bool ok);

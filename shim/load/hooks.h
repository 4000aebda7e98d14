/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Our functions in the runtime's tables. They pass queues to the front end, doorbells and index
 * calls to the queues that are followed, and everything else to the originals. Installed in OnLoad;
 * the wrappers run on any application thread. Those on the dispatch path do not allocate, lock or
 * make system calls.
 */
#include "shim/hsa/agents.h"
#include "shim/capture/capture.h"
#include "shim/capture/front_ends/front_end.h"
#include "shim/hsa/table.h"
#include "shim/capture/tables/symbols.h"

struct hooks {
	struct capture *capture;
	const struct hsa_table *table;
	const struct agents *agents;
	struct symbols *symbols;
	struct front_ends front_ends;
	bool keeps_rings; /* rings stay where the program wants them */
	/*
	 * Rings were moved before the runtime started: those of hsa_queue_create(), those of CLR.
	 */
	bool is_moved_by_hsa, is_moved_by_clr;

	/*
	 * Called before the hsa_shut_down() that ends the runtime. Does what OnUnload does, for
	 * runtimes that do not call OnUnload.
	 */
	void (*before_last_shut_down)(void);
};

/* True if @table already has our wrappers, because the runtime has called us twice. */
bool hooks_are_installed(const struct hsa_table *table);

/*
 * True if the tables have the same contents as before hooks_install(). rocprofiler-sdk restores its
 * copy of them when a tool comes late; since we are not in that copy, queues created from then on
 * bypass us.
 */
bool hooks_are_taken_out(void);

/* What @hooks points to must stay valid for good. May be called again after a shut down. */
void hooks_install(const struct hooks *hooks);

/* From now on every wrapper that is still called calls the original. */
void hooks_remove(void);

/* The capture in use, or NULL. */
struct capture *hooks_capture(void);

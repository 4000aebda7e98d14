/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Our functions in the runtime's tables: they hand queues to the front end, doorbells and
 * index calls to what it follows, and everything else to the originals. Installed in OnLoad;
 * the wrappers run on any application thread. The ones of the dispatch path allocate nothing,
 * take no lock and make no system call.
 */
#include "shim/hsa/agents.h"
#include "shim/capture/capture.h"
#include "shim/capture/front_end.h"
#include "shim/hsa/table.h"
#include "shim/capture/symbols.h"

struct hooks {
	struct capture *capture;
	const struct hsa_table *table;
	const struct agents *agents;
	struct symbols *symbols;
	struct front_ends front_ends;
	bool keeps_rings; /* where the program wants them */
	/* Moved before the runtime came up: those of hsa_queue_create(), those of CLR. */
	bool is_moved_by_hsa, is_moved_by_clr;

	/*
	 * Called before the hsa_shut_down() that ends the runtime. It does what OnUnload does where
	 * the runtime calls no OnUnload.
	 */
	void (*before_last_shut_down)(void);
};

/* True when @table already holds our wrappers: the runtime called us twice. */
bool hooks_are_installed(const struct hsa_table *table);

/*
 * True when the tables hold again what they held before hooks_install(): rocprofiler-sdk puts its
 * copy of them back for a tool that comes late, and without us in that copy what it makes from then
 * on goes past us.
 */
bool hooks_are_taken_out(void);

/* What @hooks points to has to live for ever. May come again after a shut down. */
void hooks_install(const struct hooks *hooks);

/* From now on every wrapper that somebody still holds calls the original. */
void hooks_remove(void);

/* The capture in use, or NULL. */
struct capture *hooks_capture(void);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Our functions in the runtime's tables by which a program learns that something has ended: waits,
 * loads, and the callbacks of signals. When the program has it from one of them, so has the
 * recorder (shim/capture/ends.h). On any application thread, and on the runtime's that runs
 * callbacks.
 */
#include "shim/hsa/table.h"

/* Where something is recorded: whatever has ended by now is in the recorder when this returns. */
void waits_look(void);

/* OnLoad; @table has to live for ever. May come again after a shut down. */
void waits_install(const struct hsa_table *table);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * RTL_DEBUG: a line on stderr for each hooked call that is not on the dispatch path. The wrappers
 * are in the runtime's tables only when they were asked for, so without it nothing is even looked
 * at. 1: queues and code objects; 2: signals and copies, too.
 */
#include "shim/hsa/agents.h"
#include "shim/hsa/table.h"

/* In OnLoad, after hooks_install(): on top of what is there. @table and @agents live for ever. */
void debug_install(const struct hsa_table *table, const struct agents *agents, unsigned level);

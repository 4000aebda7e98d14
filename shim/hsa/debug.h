/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * RTL_DEBUG: one line on stderr for each hooked call that is not on the dispatch path. Without
 * RTL_DEBUG the wrappers are not in the runtime's tables and cost nothing. Level 1 covers queues
 * and code objects, level 2 signals and copies, too.
 */
#include "shim/hsa/agents.h"
#include "shim/hsa/table.h"

/*
 * Called in OnLoad after hooks_install(), and wraps what that has installed. @table and @agents
 * must stay valid for the life of the process.
 */
void debug_install(const struct hsa_table *table, const struct agents *agents, unsigned level);

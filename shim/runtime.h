/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Which runtime this is, and what may be done with it. For OnLoad.
 */
#include <stdbool.h>

#include "shim/front_end.h"
#include "shim/hsa_table.h"

/* Queue creation does not go to the runtime itself: a tool before us has it. */
bool runtime_has_other_tool(const struct hsa_table *table);

/* ROCm 7 or later, by the table's step and the file's name, libhsa-runtime64.so.1.18.70201. */
bool runtime_is_rocm7(const struct hsa_table *table, const char *path);

/*
 * How queues are followed; NULL: not at all. The shadow front end is the default up to ROCm 6;
 * from 7 on it is used when @mode (RTL_MODE) is "shadow".
 */
const struct front_end *runtime_front_end(
	const struct hsa_table *table, const char *path, const char *mode);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Which runtime this is, and how its queues can be followed without harm. For OnLoad. The table
 * of releases is in runtime.c; ADR 0011 has the reasons and sources.
 */
#include <stdbool.h>
#include <stdint.h>

#include "shim/base/config.h"
#include "shim/capture/front_end.h"
#include "shim/hsa/table.h"

/* A release as ROCm's libraries state it: 50203, 60204, 70201. */
#define RUNTIME_ROCM7 70000u

/* Major version known, the rest not: the largest of that major version. */
#define RUNTIME_SOME(major) ((major)*10000u + 9999u)

/*
 * By the file's name (libhsa-runtime64.so.1.18.70201), else by the build version that the runtime
 * states, else what the tables tell, which is the major version only. @build: "" where unknown.
 */
uint32_t runtime_version(const struct hsa_table *table, const char *path, const char *build);

/* HSA_AMD_SYSTEM_INFO_BUILD_VERSION, "" where the runtime has none. */
const char *runtime_build_version(const struct hsa_table *table);

/* What a tool that came before us has done to the core table. */
enum runtime_tool {
	RUNTIME_TOOL_NONE,
	RUNTIME_TOOL_CREATES, /* it makes queues; doorbells and indices are the runtime's */
	RUNTIME_TOOL_SUBMITS, /* it sees or changes packets itself */
};

/* *@ret_path: the tool's file, "" without one; valid while it is loaded. */
enum runtime_tool runtime_tool_before(const struct hsa_table *table, const char **ret_path);

struct runtime_facts {
	uint32_t version;
	enum runtime_tool tool;
	bool has_intercept; /* the table has ROCr's intercept queue */
};

/*
 * Whether nobody but the device looks at the signal of a packet that we have handed on: no other
 * tool made the queue, and this release was read for it (ADR 0059). It need not be the runtime's,
 * then.
 */
bool runtime_leaves_packets_alone(const struct runtime_facts *facts);

/*
 * The front ends of this process. Where there are none, ends.why is the reason; is_asked_for:
 * the user's own, so nobody need be told.
 */
void runtime_choose(
	const struct runtime_facts *facts, enum front_end_wish wish, struct front_ends *ret);

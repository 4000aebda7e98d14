/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Which runtime this is, and how its queues can be followed without harm. For OnLoad. What it is,
 * its tables say: files of recent releases carry no number any more. ADR 0070 has the reasons.
 */
#include <stdbool.h>
#include <stdint.h>

#include "shim/base/config.h"
#include "shim/capture/front_end.h"
#include "shim/hsa/table.h"

/* By the tables, in the order in which they came. */
enum runtime_kind {
	RUNTIME_5,
	RUNTIME_6,
	RUNTIME_7_0, /* and 7.1 */
	RUNTIME_7_2,
	RUNTIME_LATER,
	RUNTIME_LATER_FIXED, /* ... whose intercept queue has its last known fault mended */
};

/* The last release that was read for what looks at the signals of packets. */
#define RUNTIME_PACKETS_READ_LAST RUNTIME_7_2

enum runtime_kind runtime_kind_of(const struct hsa_table *table);

/*
 * A release as ROCm's libraries state it, 50203, 60204, 70201: by the file's name
 * (libhsa-runtime64.so.1.18.70201), else by the build version that the runtime states. 0: neither
 * has one. @build: "" where unknown.
 */
uint32_t runtime_number(const char *path, const char *build);

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
	enum runtime_kind kind;
	uint32_t number; /* 0: unknown */
	enum runtime_tool tool;
	bool has_intercept; /* the table has ROCr's intercept queue */
};

/* For people: "ROCm 6.2.4", "ROCm 7.2 by its tables". */
#define RUNTIME_RELEASE_BYTES 64u
void runtime_release(const struct runtime_facts *facts, char ret[RUNTIME_RELEASE_BYTES]);

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

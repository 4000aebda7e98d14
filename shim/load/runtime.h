/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Identifies the runtime and chooses how its queues can be followed without harm. For OnLoad. The
 * runtime is identified by its tables, because files of recent releases have no number in their
 * names. ADR 0002 has the reasons.
 */
#include <stdbool.h>
#include <stdint.h>

#include "shim/base/config.h"
#include "shim/capture/front_ends/front_end.h"
#include "shim/hsa/table.h"

/* Identified by the tables, in order of release. */
enum runtime_kind {
	RUNTIME_5,
	RUNTIME_6,
	RUNTIME_7_0, /* and 7.1 */
	RUNTIME_7_2,
	RUNTIME_LATER,
	RUNTIME_LATER_FIXED, /* its intercept queue has no known fault */
};

/* The last release whose sources were examined for readers of packets' signals. */
#define RUNTIME_PACKETS_READ_LAST RUNTIME_7_2

enum runtime_kind runtime_kind_of(const struct hsa_table *table);

/*
 * The number of a release as ROCm's libraries state it, such as 50203, 60204, 70201: from the
 * file's name (libhsa-runtime64.so.1.18.70201), else from the build version that the runtime
 * reports. 0 if neither has one. @build is "" if unknown.
 */
uint32_t runtime_number(const char *path, const char *build);

/* HSA_AMD_SYSTEM_INFO_BUILD_VERSION; "" if the runtime does not report it. */
const char *runtime_build_version(const struct hsa_table *table);

/* How a tool that was loaded before us has changed the core table. */
enum runtime_tool {
	RUNTIME_TOOL_NONE,
	RUNTIME_TOOL_CREATES, /* it creates queues; doorbells and indices are the runtime's */
	RUNTIME_TOOL_SUBMITS, /* it reads or changes packets itself */
};

/* *@ret_path is the tool's file, "" without one; valid while it is loaded. */
enum runtime_tool runtime_tool_before(const struct hsa_table *table, const char **ret_path);

struct runtime_facts {
	enum runtime_kind kind;
	uint32_t number; /* 0 if unknown */
	enum runtime_tool tool;
	bool has_intercept; /* the table has ROCr's intercept queue */
};

/* For messages: "ROCm 6.2.4", "ROCm 7.2 by its tables". */
#define RUNTIME_RELEASE_BYTES 64u
void runtime_release(const struct runtime_facts *facts, char ret[RUNTIME_RELEASE_BYTES]);

/*
 * Whether only the device reads the signal of a packet after submission: no other tool creates the
 * queues, and the sources of this release were examined (ADR 0006). Then the signal need not be one
 * of the runtime's.
 */
bool runtime_leaves_packets_alone(const struct runtime_facts *facts);

/*
 * Chooses the front ends of this process. If there are none, ends.why is the reason, and
 * is_asked_for says that the user chose so and needs no message.
 */
void runtime_choose(
	const struct runtime_facts *facts, enum front_end_wish wish, struct front_ends *ret);

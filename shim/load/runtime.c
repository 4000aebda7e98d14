/* SPDX-License-Identifier: MIT */
#include "shim/load/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/capture/front_ends/intercept.h"
#include "shim/base/process/loaded_library.h"
#include "shim/capture/front_ends/shadow.h"

/* HSA_AMD_SYSTEM_INFO_BUILD_VERSION, which the headers we build with lack. */
#define SYSTEM_INFO_BUILD_VERSION 0x200

/* Least size of AMD's table in each release; its step in brackets. */
#define EXT_BYTES_ROCM70 608u /* (7): 7.0 and 7.1 */
#define EXT_BYTES_ROCM72 624u /* (8) */
#define EXT_BYTES_LATER	 640u /* (9) and up */
/* Queues by descriptor came three months after the last fix of the intercept queue. */
#define EXT_STEP_DESC	 HSA_LATER_STEP_DESC
/* The root's major version 2 came with 6.0. */
#define ROOT_MAJOR_ROCM6 2u
/* Releases, by number, whose intercept queue stages packets in a buffer that is too small. */
#define STAGING_FIRST	 70101u
#define STAGING_BEFORE	 71300u
#define VERSION_FIRST	 50000u
#define VERSION_BEFORE	 1000000u

/* ---- which release --------------------------------------------------------------------- */

/* The first number between dots or dashes that can be a release: 1.18.70201, 1.15.0.60300-3-abc. */
static uint32_t version_parse(const char *text)
{
	while (*text) {
		size_t digits = strspn(text, "0123456789");
		bool is_whole = digits && (!text[digits] || strchr(".-_~", text[digits]));
		unsigned long number = is_whole && digits <= 6 ? strtoul(text, NULL, 10) : 0;

		if (number >= VERSION_FIRST && number < VERSION_BEFORE)
			return (uint32_t)number;
		text += strcspn(text, ".-_~");
		text += strspn(text, ".-_~");
	}
	return 0;
}

uint32_t runtime_number(const char *path, const char *build)
{
	const char *name = strrchr(path, '/');
	uint32_t number = version_parse(name ? name + 1 : path);

	return number ? number : version_parse(build);
}

enum runtime_kind runtime_kind_of(const struct hsa_table *table)
{
	if (table->root_major < ROOT_MAJOR_ROCM6)
		return RUNTIME_5;
	if (table->ext_bytes < EXT_BYTES_ROCM70)
		return RUNTIME_6;
	if (table->ext_bytes < EXT_BYTES_ROCM72)
		return RUNTIME_7_0;
	if (table->ext_bytes < EXT_BYTES_LATER)
		return RUNTIME_7_2;
	return table->ext_step < EXT_STEP_DESC ? RUNTIME_LATER : RUNTIME_LATER_FIXED;
}

void runtime_release(const struct runtime_facts *facts, char ret[RUNTIME_RELEASE_BYTES])
{
	static const char *const names[] = {
		[RUNTIME_5] = "ROCm 5",
		[RUNTIME_6] = "ROCm 6",
		[RUNTIME_7_0] = "ROCm 7.0 or 7.1",
		[RUNTIME_7_2] = "ROCm 7.2",
		[RUNTIME_LATER] = "later than ROCm 7.2",
		[RUNTIME_LATER_FIXED] = "later than ROCm 7.2",
	};

	if (facts->number)
		snprintf(ret, RUNTIME_RELEASE_BYTES, "ROCm %u.%u.%u", facts->number / 10000,
			facts->number / 100 % 100, facts->number % 100);
	else
		snprintf(ret, RUNTIME_RELEASE_BYTES, "%s by its tables", names[facts->kind]);
}

const char *runtime_build_version(const struct hsa_table *table)
{
	const char *text = NULL;

	if (table->real.hsa_system_get_info((hsa_system_info_t)SYSTEM_INFO_BUILD_VERSION, &text) !=
			HSA_STATUS_SUCCESS ||
		!text)
		return "";
	return text;
}

/* ---- which other tool ------------------------------------------------------------------ */

/*
 * Returns NULL if the function belongs to the runtime or is not set, else the file that contains
 * it. @own is the runtime's library, once it is known.
 */
static const char *owner_of(const void *slot, struct library *own)
{
	struct library library;
	void *address;

	memcpy(&address, slot, sizeof(address));
	if (!address || library_has(own, address))
		return NULL;
	if (!library_find(address, &library))
		return "an unknown tool";
	if (!strstr(library.path, "libhsa-runtime64"))
		return library.path;
	*own = library;
	return NULL;
}

enum runtime_tool runtime_tool_before(const struct hsa_table *table, const char **ret_path)
{
	const struct hsa_originals *real = &table->real;
	/* A tool that handles packets has replaced at least one of these. */
	const void *const submits[] = {&real->hsa_signal_store_relaxed,
		&real->hsa_signal_store_screlease, &real->hsa_queue_add_write_index_scacq_screl,
		&real->hsa_queue_add_write_index_screlease,
		&real->hsa_queue_add_write_index_relaxed,
		&real->hsa_queue_load_write_index_relaxed};
	/* Queues are created with these, by the shim too. */
	const void *const creates[] = {&real->hsa_queue_create,
		&real->hsa_amd_queue_intercept_create, &real->hsa_amd_queue_intercept_register};
	struct library own = {0};
	const char *path;

	for (size_t i = 0; i < sizeof(submits) / sizeof(*submits); i++) {
		path = owner_of(submits[i], &own);
		if (path) {
			*ret_path = path;
			return RUNTIME_TOOL_SUBMITS;
		}
	}
	for (size_t i = 0; i < sizeof(creates) / sizeof(*creates); i++) {
		path = owner_of(creates[i], &own);
		if (path) {
			*ret_path = path;
			return RUNTIME_TOOL_CREATES;
		}
	}
	*ret_path = "";
	return RUNTIME_TOOL_NONE;
}

bool runtime_leaves_packets_alone(const struct runtime_facts *facts)
{
	return facts->tool == RUNTIME_TOOL_NONE && facts->kind <= RUNTIME_PACKETS_READ_LAST;
}

/* ---- which front ends ------------------------------------------------------------------ */

static const char floods[] = "ROCm 5 aborts programs whose intercepted queues are flooded; "
			     "RTL_FRONT_END=shadow records";
static const char overflows[] = "ROCm 7.1.1 to 7.2 corrupts the heap behind intercepted queues; "
				"RTL_FRONT_END=shadow records";
static const char unknown_release[] = "this release of ROCm is not known to be safe; "
				      "RTL_FRONT_END=shadow records";

/*
 * Decided by the table, and by the number only where two releases have the same table. NULL if it
 * is safe.
 */
static const char *why_flawed(const struct runtime_facts *facts)
{
	bool has_small_staging = facts->number >= STAGING_FIRST && facts->number < STAGING_BEFORE;

	switch (facts->kind) {
	case RUNTIME_5:
		return floods;
	case RUNTIME_6:
		return NULL;
	case RUNTIME_7_0: /* up to 7.1.0 packets come one by one, so nothing is staged */
		return !facts->number || has_small_staging ? overflows : NULL;
	case RUNTIME_7_2: /* stages 256 packets, whatever the queue's size */
		return facts->number < STAGING_BEFORE ? overflows : NULL;
	case RUNTIME_LATER:
		return facts->number < STAGING_BEFORE ? unknown_release : NULL;
	case RUNTIME_LATER_FIXED: /* stages as many packets as the queue has */
		return NULL;
	}
	return unknown_release;
}

static const char *why_no_intercept(const struct runtime_facts *facts)
{
	if (!facts->has_intercept)
		return "this runtime has no intercept queue";
	/* It would bypass the other tool's own queues. */
	if (facts->tool != RUNTIME_TOOL_NONE)
		return "another tool makes the queues of this process";
	return why_flawed(facts);
}

static void choose_intercept(const struct runtime_facts *facts, struct front_ends *ret)
{
	ret->why = why_no_intercept(facts);
	if (!ret->why)
		ret->first = &intercept_front_end;
}

static void choose_shadow(const struct runtime_facts *facts, struct front_ends *ret)
{
	ret->first = &shadow_front_end;
	if (!why_no_intercept(facts))
		ret->fallback = &intercept_front_end;
}

void runtime_choose(
	const struct runtime_facts *facts, enum front_end_wish wish, struct front_ends *ret)
{
	*ret = (struct front_ends){0};
	if (wish == FRONT_END_NONE) {
		ret->why = "RTL_FRONT_END=none";
		ret->is_asked_for = true;
		ret->is_off = true;
	} else if (facts->tool == RUNTIME_TOOL_SUBMITS) {
		ret->why = "another tool handles the packets of this process";
		ret->is_off = true;
	} else if (wish == FRONT_END_INTERCEPT_UNSAFE && facts->has_intercept) {
		ret->first = &intercept_front_end;
	} else if (wish == FRONT_END_INTERCEPT || wish == FRONT_END_INTERCEPT_UNSAFE) {
		choose_intercept(facts, ret);
	} else {
		choose_shadow(facts, ret);
	}
}

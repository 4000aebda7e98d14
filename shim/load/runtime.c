/* SPDX-License-Identifier: MIT */
#include "shim/load/runtime.h"

#include <stdlib.h>
#include <string.h>

#include "shim/capture/intercept.h"
#include "shim/base/loaded_library.h"
#include "shim/capture/shadow.h"

/* HSA_AMD_SYSTEM_INFO_BUILD_VERSION, later than the headers we build with. */
#define SYSTEM_INFO_BUILD_VERSION 0x200

/* AMD's table: its step 7 came with 7.0. The root's major version 2 came with 6.0. */
#define EXT_STEP_ROCM7	  7u
#define ROOT_MAJOR_ROCM6  2u
/* The last whose sources were read for who looks at the signals of packets. */
#define PACKETS_READ_LAST 70100u
#define VERSION_FIRST	  50000u
#define VERSION_BEFORE	  1000000u

/* ---- which release ------------------------------------------------------------------------- */

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

uint32_t runtime_version(const struct hsa_table *table, const char *path, const char *build)
{
	const char *name = strrchr(path, '/');
	uint32_t version = version_parse(name ? name + 1 : path);

	if (!version)
		version = version_parse(build);
	if (version)
		return version;
	if (table->ext_bytes >= HSA_EXT_LATE_BYTES_MIN && table->ext_step >= EXT_STEP_ROCM7)
		return RUNTIME_SOME(7);
	return RUNTIME_SOME(table->root_major >= ROOT_MAJOR_ROCM6 ? 6 : 5);
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

/* ---- which other tool ------------------------------------------------------------------------ */

/* NULL: the runtime's own, or nobody's; else the file that has it. @own: the runtime, once it was met. */
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
	/* Who wants packets has to have one of these. */
	const void *const submits[] = {&real->hsa_signal_store_relaxed,
		&real->hsa_signal_store_screlease, &real->hsa_queue_add_write_index_scacq_screl,
		&real->hsa_queue_add_write_index_screlease,
		&real->hsa_queue_add_write_index_relaxed,
		&real->hsa_queue_load_write_index_relaxed};
	/* And these are what queues are made with, ours among them. */
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
	return facts->tool == RUNTIME_TOOL_NONE && facts->version <= PACKETS_READ_LAST;
}

/* ---- which front ends --------------------------------------------------------------------------
 */

static const char floods[] = "ROCm 5 aborts programs whose intercepted queues are flooded; "
			     "RTL_FRONT_END=shadow records";
static const char overflows[] = "ROCm 7.1.1 to 7.2 corrupts the heap behind intercepted queues; "
				"RTL_FRONT_END=shadow records";
static const char unknown_release[] = "this release of ROCm is not known to be safe; "
				      "RTL_FRONT_END=shadow records";

/* The first row whose `last` is not below the version holds. */
static const struct release {
	uint32_t last;
	bool is_shadow_default;
	const char *why_no_intercept; /* NULL: its intercept queue is safe */
} releases[] = {
	{RUNTIME_SOME(5), true, floods},
	{RUNTIME_SOME(6), true, NULL},
	{70100, false, NULL},	   /* packets come one by one, nothing is staged */
	{70299, false, overflows}, /* staging of 256 packets, whatever the queue's size */
	{71299, false, unknown_release},
	{RUNTIME_SOME(7) - 1, false, NULL}, /* 7.13: staging of the queue's size */
	{RUNTIME_SOME(7), false, unknown_release},
	{UINT32_MAX, false, NULL},
};

static const struct release *release_of(uint32_t version)
{
	const struct release *release = releases;

	while (release->last < version)
		release++;
	return release;
}

static const char *why_no_intercept(const struct runtime_facts *facts)
{
	if (!facts->has_intercept)
		return "this runtime has no intercept queue";
	/* It would go around the other tool's own queues. */
	if (facts->tool != RUNTIME_TOOL_NONE)
		return "another tool makes the queues of this process";
	return release_of(facts->version)->why_no_intercept;
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
	} else if (wish == FRONT_END_SHADOW || release_of(facts->version)->is_shadow_default) {
		choose_shadow(facts, ret);
	} else {
		choose_intercept(facts, ret);
	}
}

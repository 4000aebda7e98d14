/* SPDX-License-Identifier: MIT */
#include "shim/hsa/table.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

struct table_version {
	uint32_t major_id;
	uint32_t minor_id; /* sizeof the table */
	uint32_t step_id;
	uint32_t reserved;
};

struct table_root {
	struct table_version version;
	struct table_version *core;
	struct table_version *ext;
};

#define ROOT_MAJOR_MIN 1u
#define ROOT_MAJOR_MAX 3u

/* Address of the pointer at @offset; NULL if the table ends before it, or if it is NULL. */
static void *table_slot(struct table_version *table, uint32_t offset)
{
	void **slot = (void **)((char *)table + offset);

	if (!offset || table->minor_id < offset + sizeof(void *) || !*slot)
		return NULL;
	return slot;
}

int hsa_table_open(void *api_table, struct hsa_table *ret)
{
	const struct table_root *root = api_table;
	struct hsa_table table;
	bool is_late;

	memset(&table, 0, sizeof(table));
	if (!root || root->version.major_id < ROOT_MAJOR_MIN ||
		root->version.major_id > ROOT_MAJOR_MAX ||
		root->version.minor_id < sizeof(struct table_root) || !root->core || !root->ext)
		return -EPROTO;
	is_late = root->ext->minor_id >= HSA_EXT_LATE_BYTES_MIN;
	if (!is_late && root->ext->minor_id > HSA_EXT_EARLY_BYTES_MAX)
		return -EPROTO;

	table.core = root->core;
	table.root_major = root->version.major_id;
	table.ext_bytes = root->ext->minor_id;
	table.ext_step = root->ext->step_id;

#define OPEN_CORE(name, offset)                                                                    \
	table.slot.name = table_slot(root->core, offset);                                          \
	if (!table.slot.name)                                                                      \
		return -ENOSYS;                                                                    \
	table.real.name = *table.slot.name;
	HSA_CORE_MEMBERS(OPEN_CORE)

#define OPEN_OPTIONAL(name, offset)                                                                \
	table.slot.name = table_slot(root->core, offset);                                          \
	if (table.slot.name)                                                                       \
		table.real.name = *table.slot.name;
	HSA_CORE_OPTIONAL_MEMBERS(OPEN_OPTIONAL)

#define OPEN_EXT(name, type, early, late)                                                          \
	table.slot.name = table_slot(root->ext, is_late ? (late) : (early));                       \
	if (table.slot.name)                                                                       \
		table.real.name = *table.slot.name;
	HSA_EXT_MEMBERS(OPEN_EXT)
	/* Development versions had other members at these offsets. */
	if (table.ext_step < HSA_LATER_STEP_DESC) {
		table.slot.hsa_amd_queue_create = NULL;
		table.real.hsa_amd_queue_create = NULL;
		table.slot.hsa_amd_sdma_queue_create = NULL;
		table.real.hsa_amd_sdma_queue_create = NULL;
	}

	*ret = table;
	return 0;
}

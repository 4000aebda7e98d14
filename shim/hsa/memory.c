/* SPDX-License-Identifier: MIT */
#include "shim/hsa/memory.h"

static struct {
	const struct hsa_table *table;
	hsa_region_t region;
	bool is_found;
} system_memory;

/*
 * Both flags: the runtime allocates its own signals from such memory, which later releases map so
 * that no GPU caches it.
 */
#define FLAGS (HSA_REGION_GLOBAL_FLAG_FINE_GRAINED | HSA_REGION_GLOBAL_FLAG_KERNARG)

static bool region_fits(const struct hsa_table *table, hsa_region_t region)
{
	hsa_region_segment_t segment = HSA_REGION_SEGMENT_READONLY;
	uint32_t flags = 0;
	bool is_allowed = false;

	return table->real.hsa_region_get_info(region, HSA_REGION_INFO_SEGMENT, &segment) ==
		       HSA_STATUS_SUCCESS &&
	       segment == HSA_REGION_SEGMENT_GLOBAL &&
	       table->real.hsa_region_get_info(region, HSA_REGION_INFO_GLOBAL_FLAGS, &flags) ==
		       HSA_STATUS_SUCCESS &&
	       (flags & FLAGS) == FLAGS &&
	       table->real.hsa_region_get_info(region, HSA_REGION_INFO_RUNTIME_ALLOC_ALLOWED,
		       &is_allowed) == HSA_STATUS_SUCCESS &&
	       is_allowed;
}

static hsa_status_t region_visit(hsa_region_t region, void *data)
{
	(void)data;
	if (!region_fits(system_memory.table, region))
		return HSA_STATUS_SUCCESS;
	system_memory.region = region;
	system_memory.is_found = true;
	return HSA_STATUS_INFO_BREAK;
}

/* Chooses the first CPU that has such memory, as the runtime does. */
static hsa_status_t agent_visit(hsa_agent_t agent, void *data)
{
	const struct hsa_originals *real = &system_memory.table->real;
	hsa_device_type_t type = HSA_DEVICE_TYPE_GPU;

	if (real->hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type) != HSA_STATUS_SUCCESS ||
		type != HSA_DEVICE_TYPE_CPU)
		return HSA_STATUS_SUCCESS;
	(void)real->hsa_agent_iterate_regions(agent, region_visit, data);
	return system_memory.is_found ? HSA_STATUS_INFO_BREAK : HSA_STATUS_SUCCESS;
}

bool system_memory_open(const struct hsa_table *table)
{
	system_memory.table = table;
	system_memory.is_found = false;
	(void)table->real.hsa_iterate_agents(agent_visit, NULL);
	return system_memory.is_found;
}

/*
 * Uses the core function, because then the runtime maps the memory for every GPU, as it does its
 * own.
 */
void *system_memory_get(size_t bytes)
{
	void *memory = NULL;

	if (system_memory.table->real.hsa_memory_allocate(system_memory.region, bytes, &memory) !=
		HSA_STATUS_SUCCESS)
		return NULL;
	return memory;
}

void system_memory_put(void *memory)
{
	(void)system_memory.table->real.hsa_memory_free(memory);
}

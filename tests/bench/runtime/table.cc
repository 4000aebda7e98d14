/* SPDX-License-Identifier: MIT
 *
 * The tables of the runtime without ROCr, and the functions that programs link, each of which goes
 * through them as ROCr's do. C++ because the installed header is.
 */
#define AMD_INTERNAL_BUILD
#include <hsa/hsa_api_trace.h>

#include "tests/bench/runtime/functions.h"
#include "tests/bench/runtime/runtime.h"

static CoreApiTable core;
static AmdExtTable ext;
static HsaApiTable root;

#define FILL(table, name) table.name##_fn = runtime_##name
/* One function stands for all memory orders. */
#define FILL_ORDER(name, order) core.name##_##order##_fn = runtime_##name##_relaxed

static void core_fill()
{
	core.version = {HSA_API_TABLE_MAJOR_VERSION, sizeof(core), 0, 0};
	FILL(core, hsa_init);
	FILL(core, hsa_shut_down);
	FILL(core, hsa_system_get_info);
	FILL(core, hsa_iterate_agents);
	FILL(core, hsa_agent_get_info);
	FILL(core, hsa_agent_iterate_regions);
	FILL(core, hsa_region_get_info);
	FILL(core, hsa_memory_allocate);
	FILL(core, hsa_memory_free);
	FILL(core, hsa_queue_create);
	FILL(core, hsa_queue_destroy);
	FILL_ORDER(hsa_queue_load_write_index, relaxed);
	FILL_ORDER(hsa_queue_load_write_index, scacquire);
	FILL_ORDER(hsa_queue_store_write_index, relaxed);
	FILL_ORDER(hsa_queue_store_write_index, screlease);
	FILL_ORDER(hsa_queue_cas_write_index, relaxed);
	FILL_ORDER(hsa_queue_cas_write_index, scacquire);
	FILL_ORDER(hsa_queue_cas_write_index, screlease);
	FILL_ORDER(hsa_queue_cas_write_index, scacq_screl);
	FILL_ORDER(hsa_queue_add_write_index, relaxed);
	FILL_ORDER(hsa_queue_add_write_index, scacquire);
	FILL_ORDER(hsa_queue_add_write_index, screlease);
	FILL_ORDER(hsa_queue_add_write_index, scacq_screl);
	FILL(core, hsa_signal_create);
	FILL(core, hsa_signal_destroy);
	FILL_ORDER(hsa_signal_store, relaxed);
	FILL_ORDER(hsa_signal_store, screlease);
	core.hsa_signal_silent_store_relaxed_fn = runtime_hsa_signal_store_relaxed;
	core.hsa_signal_silent_store_screlease_fn = runtime_hsa_signal_store_relaxed;
	FILL(core, hsa_signal_subtract_screlease);
	FILL(core, hsa_signal_wait_scacquire);
	FILL(core, hsa_executable_freeze);
	FILL(core, hsa_executable_destroy);
	FILL(core, hsa_executable_symbol_get_info);
	FILL(core, hsa_executable_iterate_symbols);
	FILL(core, hsa_executable_iterate_agent_symbols);
}

static void ext_fill()
{
	ext.version = {HSA_API_TABLE_MAJOR_VERSION, sizeof(ext), 0, 0};
	FILL(ext, hsa_amd_signal_create);
	FILL(ext, hsa_amd_profiling_set_profiler_enabled);
	FILL(ext, hsa_amd_profiling_async_copy_enable);
	FILL(ext, hsa_amd_profiling_get_dispatch_time);
	ext.hsa_amd_queue_intercept_create_fn = runtime_intercept_create;
	ext.hsa_amd_queue_intercept_register_fn = runtime_intercept_register;
}

__attribute__((constructor)) static void fill()
{
	core_fill();
	ext_fill();
	root.version = {HSA_API_TABLE_MAJOR_VERSION, sizeof(root), 0, 0};
	root.core_ = &core;
	root.amd_ext_ = &ext;
}

void *runtime_table(void)
{
	return &root;
}

extern "C" {
RUNTIME_API hsa_status_t hsa_iterate_agents(hsa_status_t (*callback)(hsa_agent_t, void *), void *data)
{
	return core.hsa_iterate_agents_fn(callback, data);
}

RUNTIME_API hsa_status_t hsa_agent_get_info(hsa_agent_t agent, hsa_agent_info_t what, void *value)
{
	return core.hsa_agent_get_info_fn(agent, what, value);
}

RUNTIME_API hsa_status_t hsa_queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
	void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
	uint32_t private_segment_size, uint32_t group_segment_size, hsa_queue_t **queue)
{
	return core.hsa_queue_create_fn(agent, size, type, callback, data, private_segment_size,
		group_segment_size, queue);
}

RUNTIME_API hsa_status_t hsa_queue_destroy(hsa_queue_t *queue)
{
	return core.hsa_queue_destroy_fn(queue);
}

RUNTIME_API uint64_t hsa_queue_add_write_index_screlease(const hsa_queue_t *queue, uint64_t value)
{
	return core.hsa_queue_add_write_index_screlease_fn(queue, value);
}

RUNTIME_API hsa_status_t hsa_signal_create(hsa_signal_value_t initial, uint32_t num_consumers,
	const hsa_agent_t *consumers, hsa_signal_t *signal)
{
	return core.hsa_signal_create_fn(initial, num_consumers, consumers, signal);
}

RUNTIME_API hsa_status_t hsa_signal_destroy(hsa_signal_t signal)
{
	return core.hsa_signal_destroy_fn(signal);
}

RUNTIME_API void hsa_signal_store_screlease(hsa_signal_t signal, hsa_signal_value_t value)
{
	core.hsa_signal_store_screlease_fn(signal, value);
}

RUNTIME_API hsa_status_t hsa_executable_freeze(hsa_executable_t executable, const char *options)
{
	return core.hsa_executable_freeze_fn(executable, options);
}

RUNTIME_API hsa_status_t hsa_executable_iterate_symbols(hsa_executable_t executable,
	hsa_status_t (*callback)(hsa_executable_t, hsa_executable_symbol_t, void *), void *data)
{
	return core.hsa_executable_iterate_symbols_fn(executable, callback, data);
}

RUNTIME_API hsa_status_t hsa_executable_symbol_get_info(
	hsa_executable_symbol_t symbol, hsa_executable_symbol_info_t what, void *value)
{
	return core.hsa_executable_symbol_get_info_fn(symbol, what, value);
}
}

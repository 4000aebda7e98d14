/* SPDX-License-Identifier: MIT */
#pragma once
/* runtime.c's functions, by the types of those that they stand for: what table.cc puts into tables.
 */
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RUNTIME_IMPLEMENTS(name) extern __typeof__(name) runtime_##name

RUNTIME_IMPLEMENTS(hsa_init);
RUNTIME_IMPLEMENTS(hsa_shut_down);
RUNTIME_IMPLEMENTS(hsa_system_get_info);
RUNTIME_IMPLEMENTS(hsa_iterate_agents);
RUNTIME_IMPLEMENTS(hsa_agent_get_info);
RUNTIME_IMPLEMENTS(hsa_agent_iterate_regions);
RUNTIME_IMPLEMENTS(hsa_region_get_info);
RUNTIME_IMPLEMENTS(hsa_memory_allocate);
RUNTIME_IMPLEMENTS(hsa_memory_free);
RUNTIME_IMPLEMENTS(hsa_queue_create);
RUNTIME_IMPLEMENTS(hsa_queue_destroy);
RUNTIME_IMPLEMENTS(hsa_queue_load_write_index_relaxed);
RUNTIME_IMPLEMENTS(hsa_queue_store_write_index_relaxed);
RUNTIME_IMPLEMENTS(hsa_queue_cas_write_index_relaxed);
RUNTIME_IMPLEMENTS(hsa_queue_add_write_index_relaxed);
RUNTIME_IMPLEMENTS(hsa_signal_create);
RUNTIME_IMPLEMENTS(hsa_signal_destroy);
RUNTIME_IMPLEMENTS(hsa_signal_store_relaxed);
RUNTIME_IMPLEMENTS(hsa_signal_subtract_screlease);
RUNTIME_IMPLEMENTS(hsa_signal_wait_scacquire);
RUNTIME_IMPLEMENTS(hsa_executable_freeze);
RUNTIME_IMPLEMENTS(hsa_executable_destroy);
RUNTIME_IMPLEMENTS(hsa_executable_symbol_get_info);
RUNTIME_IMPLEMENTS(hsa_executable_iterate_symbols);
RUNTIME_IMPLEMENTS(hsa_executable_iterate_agent_symbols);
RUNTIME_IMPLEMENTS(hsa_amd_signal_create);
RUNTIME_IMPLEMENTS(hsa_amd_profiling_set_profiler_enabled);
RUNTIME_IMPLEMENTS(hsa_amd_profiling_async_copy_enable);
RUNTIME_IMPLEMENTS(hsa_amd_profiling_get_dispatch_time);

/* hsa_amd_queue_intercept_create and _register, which C's headers do not declare. */
extern __typeof__(hsa_queue_create) runtime_intercept_create;
hsa_status_t runtime_intercept_register(hsa_queue_t *queue,
	void (*handler)(const void *packets, uint64_t count, uint64_t index, void *data,
		void (*writer)(const void *packets, uint64_t count)),
	void *data);

#ifdef __cplusplus
}
#endif

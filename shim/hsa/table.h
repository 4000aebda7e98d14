/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The runtime's function tables as a tool receives them in OnLoad, without hsa_api_trace.h, which
 * is C++ and belongs to one version. Contains only the offsets that we use. They are checked
 * against the size that the runtime states, and tests/unit/shim/hsa checks them against the
 * installed header.
 *
 * hsa_table_open() is for OnLoad; every thread reads the originals afterwards.
 *
 * The core table never changed its prefix. The AMD table did: ROCm 5.6 inserted two members in the
 * middle, so it has an early layout (up to 5.5, at most 424 bytes) and a late one (from 5.6, at
 * least 456). No release has a size in between.
 */
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include "shim/hsa/intercept_api.h"
#include "shim/hsa/later_api.h"

/* Not in the headers we build with. */
typedef hsa_status_t hsa_table_queue_get_info(hsa_queue_t *queue, uint32_t attribute, void *value);
typedef hsa_status_t hsa_table_copy_on_engine(void *dst, hsa_agent_t dst_agent, const void *src,
	hsa_agent_t src_agent, size_t bytes, uint32_t num_dep, const hsa_signal_t *dep,
	hsa_signal_t completion, uint32_t engine, bool force);

/*
 * One operation of hsa_amd_memory_async_batch_copy (from step 0x0A of the AMD table). If `entries`
 * is not 0, the pointers are arrays of that many elements, except that a linear copy has one source
 * agent, and a broadcast one source and one size.
 */
enum hsa_table_copy_type {
	HSA_TABLE_COPY_LINEAR = 0,
	HSA_TABLE_COPY_BROADCAST = 1,
	HSA_TABLE_COPY_SWAP = 2,
	HSA_TABLE_COPY_TYPE_LAST = 5, /* 3 to 5: linear, with addresses behind pointers */
};
struct hsa_table_copy_op {
	uint16_t version;
	uint16_t type;	  /* enum hsa_table_copy_type */
	uint16_t entries; /* 0: a single copy, without arrays */
	uint16_t traffic_class;
	hsa_signal_t completion;
	void *source;
	union {
		hsa_agent_t source_agent;
		const hsa_agent_t *source_agent_list;
	};
	union {
		hsa_agent_t target_agent;
		const hsa_agent_t *target_agent_list;
	};
	void *target;
	union {
		size_t bytes;
		const size_t *bytes_list;
	};
	size_t target_bytes; /* for a swap */
	uint64_t reserved[8];
};
static_assert(sizeof(struct hsa_table_copy_op) == 128, "the runtime's");
static_assert(offsetof(struct hsa_table_copy_op, completion) == 8, "the runtime's");
static_assert(offsetof(struct hsa_table_copy_op, source_agent) == 24, "the runtime's");
static_assert(offsetof(struct hsa_table_copy_op, target_agent) == 32, "the runtime's");
static_assert(offsetof(struct hsa_table_copy_op, bytes) == 48, "the runtime's");
static_assert(offsetof(struct hsa_table_copy_op, target_bytes) == 56, "the runtime's");
typedef hsa_status_t hsa_table_batch_copy(const struct hsa_table_copy_op *ops, uint32_t count,
	uint32_t num_dep, const hsa_signal_t *dep);

/* clang-format off */
/* X(name, offset in CoreApiTable) */
#define HSA_CORE_MEMBERS(X)                                                                        \
	X(hsa_init, 16)                                                                            \
	X(hsa_shut_down, 24)                                                                       \
	X(hsa_system_get_info, 32)                                                                 \
	X(hsa_iterate_agents, 56)                                                                  \
	X(hsa_agent_get_info, 64)                                                                  \
	X(hsa_queue_create, 72)                                                                    \
	X(hsa_queue_destroy, 88)                                                                   \
	X(hsa_queue_load_write_index_scacquire, 120)                                               \
	X(hsa_queue_load_write_index_relaxed, 128)                                                 \
	X(hsa_queue_store_write_index_relaxed, 136)                                                \
	X(hsa_queue_store_write_index_screlease, 144)                                              \
	X(hsa_queue_cas_write_index_scacq_screl, 152)                                              \
	X(hsa_queue_cas_write_index_scacquire, 160)                                                \
	X(hsa_queue_cas_write_index_relaxed, 168)                                                  \
	X(hsa_queue_cas_write_index_screlease, 176)                                                \
	X(hsa_queue_add_write_index_scacq_screl, 184)                                              \
	X(hsa_queue_add_write_index_scacquire, 192)                                                \
	X(hsa_queue_add_write_index_relaxed, 200)                                                  \
	X(hsa_queue_add_write_index_screlease, 208)                                                \
	X(hsa_signal_create, 312)                                                                  \
	X(hsa_signal_destroy, 320)                                                                   \
	X(hsa_signal_store_relaxed, 344)                                                             \
	X(hsa_signal_store_screlease, 352)                                                           \
	X(hsa_agent_iterate_regions, 232)                                                            \
	X(hsa_region_get_info, 240)                                                                  \
	X(hsa_memory_allocate, 280)                                                                  \
	X(hsa_memory_free, 288)                                                                      \
	X(hsa_executable_destroy, 688)                                                               \
	X(hsa_executable_freeze, 704)                                                                \
	X(hsa_executable_symbol_get_info, 760)                                                       \
	X(hsa_signal_silent_store_relaxed, 832)                                                      \
	X(hsa_signal_silent_store_screlease, 840)                                                    \
	X(hsa_executable_iterate_agent_symbols, 1000)

/* X(name, offset in CoreApiTable); the shim works without these */
#define HSA_CORE_OPTIONAL_MEMBERS(X)                                                               \
	X(hsa_memory_copy, 296)                                                                    \
	X(hsa_signal_load_relaxed, 328)                                                            \
	X(hsa_signal_load_scacquire, 336)                                                          \
	X(hsa_signal_wait_relaxed, 360)                                                            \
	X(hsa_signal_wait_scacquire, 368)                                                          \
	X(hsa_signal_group_wait_any_scacquire, 864)                                                \
	X(hsa_signal_group_wait_any_relaxed, 872)

/* X(name, type of the function, early offset, late offset); offset 0: not in that layout */
#define HSA_EXT_MEMBERS(X)                                                                         \
	X(hsa_amd_profiling_set_profiler_enabled,                                                  \
	  __typeof__(hsa_amd_profiling_set_profiler_enabled), 32, 32)                              \
	X(hsa_amd_profiling_async_copy_enable,                                                     \
	  __typeof__(hsa_amd_profiling_async_copy_enable), 40, 40)                                 \
	X(hsa_amd_profiling_get_async_copy_time,                                                   \
	  __typeof__(hsa_amd_profiling_get_async_copy_time), 56, 56)                               \
	X(hsa_amd_profiling_convert_tick_to_system_domain,                                         \
	  __typeof__(hsa_amd_profiling_convert_tick_to_system_domain), 64, 64)                     \
	X(hsa_amd_signal_async_handler, __typeof__(hsa_amd_signal_async_handler), 72, 72)          \
	X(hsa_amd_signal_wait_any, __typeof__(hsa_amd_signal_wait_any), 88, 88)                    \
	X(hsa_amd_memory_async_copy, __typeof__(hsa_amd_memory_async_copy), 136, 136)              \
	X(hsa_amd_memory_async_copy_on_engine, hsa_table_copy_on_engine, 0, 144)                   \
	X(hsa_amd_pointer_info, __typeof__(hsa_amd_pointer_info), 224, 240)                        \
	X(hsa_amd_signal_create, __typeof__(hsa_amd_signal_create), 264, 280)                      \
	X(hsa_amd_ipc_signal_create, __typeof__(hsa_amd_ipc_signal_create), 272, 288)              \
	X(hsa_amd_ipc_signal_attach, __typeof__(hsa_amd_ipc_signal_attach), 280, 296)              \
	X(hsa_amd_queue_intercept_create, __typeof__(hsa_queue_create), 296, 312)                  \
	X(hsa_amd_queue_intercept_register, hsa_intercept_register, 304, 320)                      \
	X(hsa_amd_memory_async_copy_rect, __typeof__(hsa_amd_memory_async_copy_rect), 320, 336)    \
	X(hsa_amd_queue_get_info, hsa_table_queue_get_info, 0, 560)                                \
	X(hsa_amd_signal_wait_all, hsa_later_signal_wait_all, 0, 584)                              \
	X(hsa_amd_counted_queue_acquire, hsa_later_counted_acquire, 0, 624)                        \
	X(hsa_amd_counted_queue_release, hsa_later_counted_release, 0, 632)                        \
	X(hsa_amd_memory_async_batch_copy, hsa_table_batch_copy, 0, 640)                           \
	X(hsa_amd_sdma_queue_create, hsa_later_sdma_create, 0, 672)                                \
	X(hsa_amd_queue_create, hsa_later_queue_create, 0, 704)
/* clang-format on */

#define HSA_EXT_EARLY_BYTES_MAX 424u
#define HSA_EXT_LATE_BYTES_MIN	456u

/* The functions that the tables held in OnLoad: the runtime's, or wrappers of an earlier tool. */
struct hsa_originals {
#define HSA_DECLARE_CORE(name, offset)		 __typeof__(name) *name;
#define HSA_DECLARE_EXT(name, type, early, late) type *name;
	HSA_CORE_MEMBERS(HSA_DECLARE_CORE)
	HSA_CORE_OPTIONAL_MEMBERS(HSA_DECLARE_CORE)
	HSA_EXT_MEMBERS(HSA_DECLARE_EXT)
};

/* Addresses of the table entries, for installing wrappers. NULL exactly if the original is. */
struct hsa_slots {
#define HSA_DECLARE_CORE_SLOT(name, offset)	      __typeof__(name) **name;
#define HSA_DECLARE_EXT_SLOT(name, type, early, late) type **name;
	HSA_CORE_MEMBERS(HSA_DECLARE_CORE_SLOT)
	HSA_CORE_OPTIONAL_MEMBERS(HSA_DECLARE_CORE_SLOT)
	HSA_EXT_MEMBERS(HSA_DECLARE_EXT_SLOT)
};

struct hsa_table {
	struct hsa_originals real;
	struct hsa_slots slot;
	const void *core; /* the runtime's core table; every tool of one runtime gets the same */
	uint32_t root_major;
	uint32_t ext_bytes;
	uint32_t ext_step;
};

/*
 * @api_table is the argument of OnLoad. -EPROTO: unknown version; -ENOSYS: a core member that the
 * shim needs is missing. Does not change the runtime's tables.
 */
int hsa_table_open(void *api_table, struct hsa_table *ret);

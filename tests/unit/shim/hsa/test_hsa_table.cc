/* SPDX-License-Identifier: MIT
 *
 * The offsets in shim/hsa/table.h against the header of the installed runtime (at compile
 * time), and what hsa_table_open() makes of tables of other sizes and versions.
 */
#define AMD_INTERNAL_BUILD
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <type_traits>

#include <hsa/hsa_api_trace.h>

extern "C" {
#include "shim/hsa/table.h"
}

constexpr bool is_late = sizeof(AmdExtTable) >= HSA_EXT_LATE_BYTES_MIN;
static_assert(is_late || sizeof(AmdExtTable) <= HSA_EXT_EARLY_BYTES_MAX, "an unknown layout");

#define CHECK_CORE(name, offset) \
	static_assert(offsetof(CoreApiTable, name##_fn) == (offset), #name " moved");
HSA_CORE_MEMBERS(CHECK_CORE)
HSA_CORE_OPTIONAL_MEMBERS(CHECK_CORE)

/* A member the header has not is one that the layout must not claim. */
#define CHECK_EXT(member)                                                                          \
	static_assert(offsetof(AmdExtTable, member##_fn) == ext_offset(#member), #member " moved");

constexpr bool same(const char *a, const char *b)
{
	for (; *a && *a == *b; a++, b++)
		;
	return *a == *b;
}

constexpr size_t ext_offset(const char *wanted)
{
#define MATCH(name, type, early, late)                                                             \
	if (same(wanted, #name))                                                                   \
		return is_late ? (late) : (early);
	HSA_EXT_MEMBERS(MATCH)
	return 0;
}
CHECK_EXT(hsa_amd_profiling_set_profiler_enabled)
CHECK_EXT(hsa_amd_profiling_async_copy_enable)
CHECK_EXT(hsa_amd_profiling_get_async_copy_time)
CHECK_EXT(hsa_amd_profiling_convert_tick_to_system_domain)
CHECK_EXT(hsa_amd_signal_async_handler)
CHECK_EXT(hsa_amd_signal_wait_any)
CHECK_EXT(hsa_amd_memory_async_copy)
CHECK_EXT(hsa_amd_pointer_info)
CHECK_EXT(hsa_amd_signal_create)
CHECK_EXT(hsa_amd_ipc_signal_create)
CHECK_EXT(hsa_amd_ipc_signal_attach)
CHECK_EXT(hsa_amd_memory_async_copy_rect)
CHECK_EXT(hsa_amd_queue_intercept_create)
CHECK_EXT(hsa_amd_queue_intercept_register)
/* The callback types of the runtime are those of our C header. */
static_assert(std::is_same_v<hsa_intercept_writer *, hsa_amd_queue_intercept_packet_writer>);
static_assert(std::is_same_v<hsa_intercept_handler *, hsa_amd_queue_intercept_handler>);
static_assert(
	std::is_same_v<hsa_intercept_register, decltype(hsa_amd_queue_intercept_register)>);
static_assert(std::is_same_v<decltype(hsa_queue_create), decltype(hsa_amd_queue_intercept_create)>);
static_assert(offsetof(HsaApiTable, core_) == 16, "root");
static_assert(offsetof(HsaApiTable, amd_ext_) == 24, "root");

static int failures;

static void check(bool ok, const char *claim)
{
	if (!ok) {
		fprintf(stderr, "FAILED: %s\n", claim);
		failures++;
	}
}

/* Tables whose every pointer says its own offset. */
struct fake {
	ApiTableVersion root;
	void *core_pointer, *ext_pointer;
	union {
		ApiTableVersion version;
		unsigned char bytes[2048];
	} core, ext;

	fake(uint32_t major, uint32_t core_bytes, uint32_t ext_bytes)
	{
		memset(this, 0, sizeof(*this));
		for (uintptr_t offset = 16; offset < sizeof(core); offset += 8) {
			memcpy(core.bytes + offset, &offset, 8);
			memcpy(ext.bytes + offset, &offset, 8);
		}
		core.version = { 2, core_bytes, 0, 0 };
		ext.version = { 2, ext_bytes, 0, 0 };
		root = { major, 48, 0, 0 };
		core_pointer = &core;
		ext_pointer = &ext;
	}
};

int main()
{
	hsa_table table;

	fake early(1, 1016, 400);
	check(!hsa_table_open(&early, &table), "ROCm 5.2's tables open");
	check((uintptr_t)table.real.hsa_queue_create == 72, "core members are found");
	check((uintptr_t)table.real.hsa_amd_signal_create == 264, "early layout");
	check(!table.real.hsa_amd_queue_get_info && !table.slot.hsa_amd_queue_get_info,
		"what 5.2 has not is absent");
	check((unsigned char *)table.slot.hsa_queue_create == early.core.bytes + 72,
		"a slot is the place in the runtime's table");

	fake late(3, 1016, 576);
	check(!hsa_table_open(&late, &table), "ROCm 6.2's tables open");
	check((uintptr_t)table.real.hsa_amd_signal_create == 280, "late layout");
	check((uintptr_t)table.real.hsa_amd_queue_get_info == 560, "the last member of 6.2");

	check(!table.real.hsa_amd_memory_async_batch_copy, "6.2 has no batches of copies");

	fake batches(3, 1016, 648);
	check(!hsa_table_open(&batches, &table), "ROCm 7's tables with step 0x0A open");
	check((uintptr_t)table.real.hsa_amd_memory_async_batch_copy == 640, "batches of copies");
	check((uintptr_t)table.real.hsa_amd_signal_wait_all == 584,
		"waits for all of several signals");

	fake shorter(2, 1016, 560);
	check(!hsa_table_open(&shorter, &table), "ROCm 6.1's tables open");
	check(!table.real.hsa_amd_queue_get_info, "past the stated size is absent");

	fake between(1, 1016, 440);
	check(hsa_table_open(&between, &table) == -EPROTO, "no release has this size");
	fake future(4, 1016, 576);
	check(hsa_table_open(&future, &table) == -EPROTO, "an unknown major version");
	fake nothing(0, 1016, 576);
	check(hsa_table_open(&nothing, &table) == -EPROTO, "major version 0");
	fake small(1, 800, 400);
	check(hsa_table_open(&small, &table) == -ENOSYS, "a core table that ends early");
	fake hole(1, 1016, 400);
	memset(hole.core.bytes + 72, 0, 8);
	check(hsa_table_open(&hole, &table) == -ENOSYS, "a missing core function");
	fake without(1, 1016, 400);
	memset(without.core.bytes + 368, 0, 8);
	check(!hsa_table_open(&without, &table) && !table.slot.hsa_signal_wait_scacquire &&
			!table.real.hsa_signal_wait_scacquire,
		"a core function that can be done without");
	check(hsa_table_open(nullptr, &table) == -EPROTO, "no table");
	return failures ? 1 : 0;
}

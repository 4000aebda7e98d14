// SPDX-License-Identifier: MIT
#include "tests/bench/runtime/runtime.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "proto/base/clock.h"
#include "tests/bench/runtime/functions.h"
#include "tests/shim/capture/synth_intercept.h"

/* Attributes of an agent that tools ask for and that the headers of this build lack. */
#define AGENT_NODE	   0xA004
#define AGENT_PRODUCT_NAME 0xA009
#define AGENT_TICK_HZ	   0xA016

#define KERNEL_OBJECT0 0x7f0000001000ull
#define KERNEL_BYTES   64u

static struct runtime {
	struct capture_hsa functions; /* of the synthetic device */
	void *tool;
	/* A thread that waits on a signal is woken when the device has run. */
	pthread_mutex_t lock;
	pthread_cond_t ran;
	_Atomic uint64_t asked; /* times that the tool asked for */
} runtime = {.lock = PTHREAD_MUTEX_INITIALIZER, .ran = PTHREAD_COND_INITIALIZER};

static amd_signal_t *signal_at(hsa_signal_t signal)
{
	return (amd_signal_t *)(uintptr_t)signal.handle;
}

/* ---- life --------------------------------------------------------------------------------------
 */

static void *tool_function(const char *name)
{
	return runtime.tool ? dlsym(runtime.tool, name) : NULL;
}

bool runtime_begin(void)
{
	const char *path = getenv("HSA_TOOLS_LIB");
	bool (*on_load)(void *table, uint64_t version, uint64_t failed, const char *const *names);
	void *found;

	synth.clock = clock_boottime_ns;
	synth.takes_cookie = true;
	synth.is_forgetful = true;
	synth_hsa(&runtime.functions);
	synth_intercept_hsa(&runtime.functions);
	if (!path || !*path)
		return true;
	runtime.tool = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	found = tool_function("OnLoad");
	if (!found) {
		fprintf(stderr, "the runtime cannot load %s: %s\n", path, dlerror());
		return false;
	}
	memcpy(&on_load, &found, sizeof(on_load));
	return on_load(runtime_table(), 1, 0, NULL);
}

void runtime_end(void)
{
	void *found = tool_function("OnUnload");
	void (*on_unload)(void);

	if (!found)
		return;
	memcpy(&on_unload, &found, sizeof(on_unload));
	on_unload();
}

/* ---- the device --------------------------------------------------------------------------------
 */

void runtime_device_run(void)
{
	unsigned queues = atomic_load(&synth.queues);

	for (unsigned i = 0; i < queues; i++)
		while (synth_step(synth.queue[i], SYNTH_DOORBELL))
			;
	pthread_mutex_lock(&runtime.lock);
	pthread_cond_broadcast(&runtime.ran);
	pthread_mutex_unlock(&runtime.lock);
}

bool runtime_is_read(void)
{
	unsigned queues = atomic_load(&synth.queues);

	if (atomic_load(&runtime.asked) >= runtime_timed())
		return true;
	for (unsigned i = 0; i < queues; i++)
		for (size_t k = 0; k < synth.queue[i]->execs; k++) {
			uint64_t signal = synth.queue[i]->exec[k].signal;

			if (signal && synth_signal_load((hsa_signal_t){signal}) < 1)
				return false;
		}
	return true;
}

uint64_t runtime_executed(void)
{
	unsigned queues = atomic_load(&synth.queues);
	uint64_t sum = 0;

	for (unsigned i = 0; i < queues; i++)
		sum += atomic_load(&synth.queue[i]->executed);
	return sum;
}

uint64_t runtime_timed(void)
{
	unsigned queues = atomic_load(&synth.queues);
	uint64_t sum = 0;

	for (unsigned i = 0; i < queues; i++)
		sum += synth.queue[i]->timed;
	return sum;
}

/* Like the thunk's function, which a tool looks for in the runtime's library. Ticks are
 * nanoseconds. */
RUNTIME_API int hsaKmtGetClockCounters(uint32_t node, void *ret);
int hsaKmtGetClockCounters(uint32_t node, void *ret)
{
	uint64_t now_ns = clock_boottime_ns();
	const uint64_t answer[4] = {now_ns, now_ns, now_ns, 1000000000};

	(void)node;
	memcpy(ret, answer, sizeof(answer));
	return 0;
}

/* ---- agents and code ---------------------------------------------------------------------------
 */

/* Loading it starts it. */
hsa_status_t runtime_hsa_init(void)
{
	return HSA_STATUS_SUCCESS;
}

hsa_status_t runtime_hsa_shut_down(void)
{
	return HSA_STATUS_SUCCESS;
}

hsa_status_t runtime_hsa_system_get_info(hsa_system_info_t attribute, void *value)
{
	(void)attribute, (void)value;
	return HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

hsa_status_t runtime_hsa_iterate_agents(
	hsa_status_t (*callback)(hsa_agent_t agent, void *data), void *data)
{
	hsa_status_t status = callback((hsa_agent_t){RUNTIME_CPU}, data);

	return status == HSA_STATUS_SUCCESS ? callback((hsa_agent_t){RUNTIME_GPU}, data) : status;
}

hsa_status_t runtime_hsa_agent_get_info(hsa_agent_t agent, hsa_agent_info_t attribute, void *value)
{
	bool is_gpu = agent.handle == RUNTIME_GPU;

	switch ((unsigned)attribute) {
	case HSA_AGENT_INFO_DEVICE:
		*(hsa_device_type_t *)value = is_gpu ? HSA_DEVICE_TYPE_GPU : HSA_DEVICE_TYPE_CPU;
		return HSA_STATUS_SUCCESS;
	case HSA_AGENT_INFO_NAME:
		strcpy(value, "gfx90a");
		return HSA_STATUS_SUCCESS;
	case AGENT_PRODUCT_NAME:
		strcpy(value, "SIMULATED synthetic device");
		return HSA_STATUS_SUCCESS;
	case AGENT_NODE:
		*(uint32_t *)value = is_gpu;
		return HSA_STATUS_SUCCESS;
	case AGENT_TICK_HZ:
		*(uint64_t *)value = 1000000000;
		return HSA_STATUS_SUCCESS;
	default:
		return HSA_STATUS_ERROR_INVALID_ARGUMENT;
	}
}

/* One, of the host's: all that its signals lie in. */
hsa_status_t runtime_hsa_agent_iterate_regions(
	hsa_agent_t agent, hsa_status_t (*callback)(hsa_region_t region, void *data), void *data)
{
	return agent.handle == RUNTIME_CPU ? callback((hsa_region_t){1}, data) : HSA_STATUS_SUCCESS;
}

hsa_status_t runtime_hsa_region_get_info(
	hsa_region_t region, hsa_region_info_t attribute, void *value)
{
	(void)region;
	switch (attribute) {
	case HSA_REGION_INFO_SEGMENT:
		*(hsa_region_segment_t *)value = HSA_REGION_SEGMENT_GLOBAL;
		return HSA_STATUS_SUCCESS;
	case HSA_REGION_INFO_GLOBAL_FLAGS:
		*(uint32_t *)value =
			HSA_REGION_GLOBAL_FLAG_FINE_GRAINED | HSA_REGION_GLOBAL_FLAG_KERNARG;
		return HSA_STATUS_SUCCESS;
	case HSA_REGION_INFO_RUNTIME_ALLOC_ALLOWED:
		*(bool *)value = true;
		return HSA_STATUS_SUCCESS;
	default:
		return HSA_STATUS_ERROR_INVALID_ARGUMENT;
	}
}

hsa_status_t runtime_hsa_memory_allocate(hsa_region_t region, size_t bytes, void **ret)
{
	(void)region;
	*ret = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return *ret == MAP_FAILED ? HSA_STATUS_ERROR_OUT_OF_RESOURCES : HSA_STATUS_SUCCESS;
}

/* The memory is released when the process ends, since its size is not known here. */
hsa_status_t runtime_hsa_memory_free(void *memory)
{
	(void)memory;
	return HSA_STATUS_SUCCESS;
}

uint64_t runtime_kernel(unsigned number)
{
	return KERNEL_OBJECT0 + (uint64_t)number * KERNEL_BYTES;
}

hsa_status_t runtime_hsa_executable_freeze(hsa_executable_t executable, const char *options)
{
	(void)executable, (void)options;
	return HSA_STATUS_SUCCESS;
}

hsa_status_t runtime_hsa_executable_destroy(hsa_executable_t executable)
{
	(void)executable;
	return HSA_STATUS_SUCCESS;
}

/* A symbol's handle is the number of its kernel, and 1. */
hsa_status_t runtime_hsa_executable_iterate_symbols(hsa_executable_t executable,
	hsa_status_t (*callback)(hsa_executable_t, hsa_executable_symbol_t, void *), void *data)
{
	for (uint64_t i = 0; i < RUNTIME_KERNELS; i++)
		(void)callback(executable, (hsa_executable_symbol_t){i + 1}, data);
	return HSA_STATUS_SUCCESS;
}

hsa_status_t runtime_hsa_executable_iterate_agent_symbols(hsa_executable_t executable,
	hsa_agent_t agent,
	hsa_status_t (*callback)(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t, void *),
	void *data)
{
	for (uint64_t i = 0; i < RUNTIME_KERNELS; i++)
		(void)callback(executable, agent, (hsa_executable_symbol_t){i + 1}, data);
	return HSA_STATUS_SUCCESS;
}

hsa_status_t runtime_hsa_executable_symbol_get_info(
	hsa_executable_symbol_t symbol, hsa_executable_symbol_info_t attribute, void *value)
{
	char name[64];
	int bytes =
		snprintf(name, sizeof(name), "synthetic_kernel_%u.kd", (unsigned)symbol.handle - 1);

	switch ((unsigned)attribute) {
	case HSA_EXECUTABLE_SYMBOL_INFO_TYPE:
		*(hsa_symbol_kind_t *)value = HSA_SYMBOL_KIND_KERNEL;
		return HSA_STATUS_SUCCESS;
	case HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH:
		*(uint32_t *)value = (uint32_t)bytes;
		return HSA_STATUS_SUCCESS;
	case HSA_EXECUTABLE_SYMBOL_INFO_NAME:
		memcpy(value, name, (size_t)bytes);
		return HSA_STATUS_SUCCESS;
	case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT:
		*(uint64_t *)value = runtime_kernel((unsigned)symbol.handle - 1);
		return HSA_STATUS_SUCCESS;
	default:
		return HSA_STATUS_ERROR_INVALID_ARGUMENT;
	}
}

/* ---- queues ------------------------------------------------------------------------------------
 */

hsa_status_t runtime_hsa_queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
	void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
	uint32_t private_segment_size, uint32_t group_segment_size, hsa_queue_t **queue)
{
	return runtime.functions.queue_create(
		agent, size, type, callback, data, private_segment_size, group_segment_size, queue);
}

hsa_status_t runtime_hsa_queue_destroy(hsa_queue_t *queue)
{
	return runtime.functions.queue_destroy(queue);
}

hsa_status_t runtime_intercept_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
	void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
	uint32_t private_segment_size, uint32_t group_segment_size, hsa_queue_t **queue)
{
	return runtime.functions.intercept_create(
		agent, size, type, callback, data, private_segment_size, group_segment_size, queue);
}

hsa_status_t runtime_intercept_register(
	hsa_queue_t *queue, hsa_intercept_handler *handler, void *data)
{
	return runtime.functions.intercept_register(queue, handler, data);
}

static uint64_t *write_index(const hsa_queue_t *queue)
{
	return (uint64_t *)&((amd_queue_t *)(uintptr_t)queue)->write_dispatch_id;
}

uint64_t runtime_hsa_queue_load_write_index_relaxed(const hsa_queue_t *queue)
{
	return __atomic_load_n(write_index(queue), __ATOMIC_ACQUIRE);
}

void runtime_hsa_queue_store_write_index_relaxed(const hsa_queue_t *queue, uint64_t value)
{
	__atomic_store_n(write_index(queue), value, __ATOMIC_RELEASE);
}

uint64_t runtime_hsa_queue_cas_write_index_relaxed(
	const hsa_queue_t *queue, uint64_t expected, uint64_t value)
{
	(void)__atomic_compare_exchange_n(
		write_index(queue), &expected, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	return expected;
}

uint64_t runtime_hsa_queue_add_write_index_relaxed(const hsa_queue_t *queue, uint64_t value)
{
	return __atomic_fetch_add(write_index(queue), value, __ATOMIC_ACQ_REL);
}

/* ---- signals -----------------------------------------------------------------------------------
 */

hsa_status_t runtime_hsa_signal_create(hsa_signal_value_t initial, uint32_t num_consumers,
	const hsa_agent_t *consumers, hsa_signal_t *signal)
{
	(void)num_consumers, (void)consumers;
	*signal = synth_signal_new(initial);
	return HSA_STATUS_SUCCESS;
}

hsa_status_t runtime_hsa_amd_signal_create(hsa_signal_value_t initial, uint32_t num_consumers,
	const hsa_agent_t *consumers, uint64_t attributes, hsa_signal_t *signal)
{
	(void)attributes;
	return runtime_hsa_signal_create(initial, num_consumers, consumers, signal);
}

hsa_status_t runtime_hsa_signal_destroy(hsa_signal_t signal)
{
	synth_signal_free(signal);
	return HSA_STATUS_SUCCESS;
}

void runtime_hsa_signal_store_relaxed(hsa_signal_t signal, hsa_signal_value_t value)
{
	runtime.functions.signal_store_screlease(signal, value);
}

void runtime_hsa_signal_subtract_screlease(hsa_signal_t signal, hsa_signal_value_t value)
{
	__atomic_fetch_sub(&signal_at(signal)->value, value, __ATOMIC_RELEASE);
}

static bool is_met(
	hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t compare)
{
	int64_t value = synth_signal_load(signal);

	switch (condition) {
	case HSA_SIGNAL_CONDITION_EQ:
		return value == compare;
	case HSA_SIGNAL_CONDITION_NE:
		return value != compare;
	case HSA_SIGNAL_CONDITION_LT:
		return value < compare;
	case HSA_SIGNAL_CONDITION_GTE:
		return value >= compare;
	}
	return false;
}

/* Asleep until the device has run, as on the runtime's interrupt. @timeout: ns. */
hsa_signal_value_t runtime_hsa_signal_wait_scacquire(hsa_signal_t signal,
	hsa_signal_condition_t condition, hsa_signal_value_t compare, uint64_t timeout,
	hsa_wait_state_t state)
{
	uint64_t until_ns = clock_realtime_ns() + timeout;
	struct timespec until = {(time_t)(until_ns / 1000000000u), (long)(until_ns % 1000000000u)};
	bool is_late = false;

	(void)state;
	if (is_met(signal, condition, compare))
		return synth_signal_load(signal);
	pthread_mutex_lock(&runtime.lock);
	while (!is_met(signal, condition, compare) && !is_late)
		is_late = pthread_cond_timedwait(&runtime.ran, &runtime.lock, &until) != 0;
	pthread_mutex_unlock(&runtime.lock);
	return synth_signal_load(signal);
}

/* ---- times -------------------------------------------------------------------------------------
 */

hsa_status_t runtime_hsa_amd_profiling_set_profiler_enabled(hsa_queue_t *queue, int enable)
{
	return runtime.functions.set_profiler_enabled(queue, enable);
}

hsa_status_t runtime_hsa_amd_profiling_async_copy_enable(bool enable)
{
	(void)enable;
	return HSA_STATUS_SUCCESS;
}

hsa_status_t runtime_hsa_amd_profiling_get_dispatch_time(
	hsa_agent_t agent, hsa_signal_t signal, hsa_amd_profiling_dispatch_time_t *time)
{
	(void)agent;
	time->start = signal_at(signal)->start_ts;
	time->end = signal_at(signal)->end_ts;
	atomic_fetch_add(&runtime.asked, 1);
	return HSA_STATUS_SUCCESS;
}

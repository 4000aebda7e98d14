/* SPDX-License-Identifier: MIT */
#include "shim/load/hooks.h"

#include <stdlib.h>
#include <string.h>

#include "shim/events/copies.h"
#include "shim/capture/harvest.h"
#include "shim/capture/front_ends/intercept.h"
#include "shim/hsa/host_rings.h"
#include "shim/hsa/ipc.h"
#include "shim/capture/tables/submitter.h"
#include "shim/base/process/process_rank.h"
#include "shim/record/rank_changes.h"
#include "shim/capture/front_ends/shadow.h"
#include "shim/base/log.h"
#include "shim/load/waits.h"
#include "shim/wrap/unwrapped.h"

#define QUEUE_INFO_DOORBELL_ID 1u

/* Written in OnLoad before the wrappers are in any table; hooks_current enables them. */
static struct hooks hooks;
static struct capture *_Atomic hooks_current;

#define REAL(name) (hooks.table->real.name)

struct capture *hooks_capture(void)
{
	return atomic_load_explicit(&hooks_current, memory_order_acquire);
}

/* If NULL, the caller calls the original. */
static inline struct capture *capture_in_use(void)
{
	struct capture *capture = atomic_load_explicit(&hooks_current, memory_order_acquire);

	return capture && !capture_is_pass_through(capture) ? capture : NULL;
}

static inline struct shadow_queue *followed(const hsa_queue_t *queue)
{
	struct capture *capture = capture_in_use();

	return capture ? shadow_of_queue(capture, queue) : NULL;
}

/*
 * A reservation on a queue that is not virtualised: if it is intercepted, its submitting thread is
 * noted.
 */
static inline void proxied_reserve(const hsa_queue_t *queue, uint64_t first, uint64_t end)
{
	struct capture *capture = capture_in_use();
	struct origins *origins = capture ? intercept_origins(capture, queue) : NULL;

	if (origins && end > first)
		origins_reserve(origins, first, end - first);
}

/* ---- dispatch path --------------------------------------------------------------------- */

#define HOOK_LOAD(name)                                                                            \
	static uint64_t hook_##name(const hsa_queue_t *queue)                                      \
	{                                                                                          \
		struct shadow_queue *shadow = followed(queue);                                     \
                                                                                                   \
		return shadow ? shadow_index_load(shadow) : REAL(name)(queue);                     \
	}

#define HOOK_STORE(name)                                                                           \
	static void hook_##name(const hsa_queue_t *queue, uint64_t value)                          \
	{                                                                                          \
		struct shadow_queue *shadow = followed(queue);                                     \
                                                                                                   \
		if (shadow) {                                                                      \
			shadow_index_store(shadow, value);                                         \
			return;                                                                    \
		}                                                                                  \
		proxied_reserve(queue, REAL(hsa_queue_load_write_index_relaxed)(queue), value);    \
		REAL(name)(queue, value);                                                          \
	}

#define HOOK_ADD(name)                                                                             \
	static uint64_t hook_##name(const hsa_queue_t *queue, uint64_t n)                          \
	{                                                                                          \
		struct shadow_queue *shadow = followed(queue);                                     \
		uint64_t first;                                                                    \
                                                                                                   \
		if (shadow)                                                                        \
			return shadow_index_add(shadow, n);                                        \
		first = REAL(name)(queue, n);                                                      \
		proxied_reserve(queue, first, first + n);                                          \
		return first;                                                                      \
	}

#define HOOK_CAS(name)                                                                             \
	static uint64_t hook_##name(const hsa_queue_t *queue, uint64_t expected, uint64_t value)   \
	{                                                                                          \
		struct shadow_queue *shadow = followed(queue);                                     \
		uint64_t before;                                                                   \
                                                                                                   \
		if (shadow)                                                                        \
			return shadow_index_cas(shadow, expected, value);                          \
		before = REAL(name)(queue, expected, value);                                       \
		if (before == expected)                                                            \
			proxied_reserve(queue, expected, value);                                   \
		return before;                                                                     \
	}

/* Our doorbells are rung by the walk, with the index it has reached. */
#define HOOK_SIGNAL_STORE(name)                                                                    \
	static void hook_##name(hsa_signal_t signal, hsa_signal_value_t value)                     \
	{                                                                                          \
		struct capture *capture = capture_in_use();                                        \
		struct shadow_queue *shadow = NULL;                                                \
                                                                                                   \
		if (capture)                                                                       \
			shadow = shadow_of_doorbell(capture, signal);                              \
		if (shadow) {                                                                      \
			shadow_doorbell(shadow);                                                   \
			return;                                                                    \
		}                                                                                  \
		if (capture)                                                                       \
			harvest_signal_store(capture, signal);                                     \
		REAL(name)(signal, value);                                                         \
	}

HOOK_LOAD(hsa_queue_load_write_index_scacquire)
HOOK_LOAD(hsa_queue_load_write_index_relaxed)
HOOK_STORE(hsa_queue_store_write_index_relaxed)
HOOK_STORE(hsa_queue_store_write_index_screlease)
HOOK_CAS(hsa_queue_cas_write_index_scacq_screl)
HOOK_CAS(hsa_queue_cas_write_index_scacquire)
HOOK_CAS(hsa_queue_cas_write_index_relaxed)
HOOK_CAS(hsa_queue_cas_write_index_screlease)
HOOK_ADD(hsa_queue_add_write_index_scacq_screl)
HOOK_ADD(hsa_queue_add_write_index_scacquire)
HOOK_ADD(hsa_queue_add_write_index_relaxed)
HOOK_ADD(hsa_queue_add_write_index_screlease)
HOOK_SIGNAL_STORE(hsa_signal_store_relaxed)
HOOK_SIGNAL_STORE(hsa_signal_store_screlease)
HOOK_SIGNAL_STORE(hsa_signal_silent_store_relaxed)
HOOK_SIGNAL_STORE(hsa_signal_silent_store_screlease)

/* ---- queues ------------------------------------------------------------------------------- */

static const char why_no_gpu[] = "not on a GPU that is followed";

/* Counts a queue that no front end was asked about. Returns @why. */
static const char *queue_is_plain(
	struct capture *capture, enum rtl_process_counter as, const char *why)
{
	recorder_count(capture_recorder(capture), RTL_P_queues_created, 1);
	recorder_count(capture_recorder(capture), as, 1);
	return why;
}

/*
 * A queue is not followed. Reported only here, because a program without queues misses nothing.
 * Prints a line if the user would not expect it.
 */
static void report_plain_queue(const char *why)
{
	const struct front_ends *ends = &hooks.front_ends;

	slog_debug(1, "a queue is left plain: %s", why);
	if (ends->is_asked_for)
		return;
	if (ends->tool[0])
		slog_tell("%s has queues of this process, whose kernels are not recorded: %s",
			ends->tool, ends->tool_why);
	else if (why == ends->why)
		slog_tell("no kernels are recorded: %s", why);
	else if (why == front_ends_why_device_ring)
		slog_tell("kernels of a queue are not recorded: %s", why);
}

/*
 * Queues and code are created before the first dispatch that uses them, so a rank that is set late
 * is known by now.
 */
static void update_rank(struct capture *capture, bool is_often)
{
	if (!capture)
		return;
	process_rank_look(is_often);
	rank_changes_run(capture_recorder(capture));
}

static hsa_status_t hook_hsa_queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
	void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
	uint32_t private_segment_size, uint32_t group_segment_size, hsa_queue_t **queue)
{
	struct capture *capture = capture_in_use();
	struct queue_request request = {
		agent, 0, size, type, callback, data, private_segment_size, group_segment_size};
	int gpu = capture ? agents_find(hooks.agents, agent) : -1;
	const char *why = why_no_gpu;
	hsa_status_t status;

	update_rank(capture, false);
	if (gpu < 0 || type == HSA_QUEUE_TYPE_COOPERATIVE) {
		status = REAL(hsa_queue_create)(agent, size, type, callback, data,
			private_segment_size, group_segment_size, queue);
		if (!capture || status != HSA_STATUS_SUCCESS)
			return status;
		if (gpu < 0)
			(void)queue_is_plain(capture, RTL_P_queues_ineligible, why);
		else
			why = front_ends_share(capture, &hooks.front_ends, *queue, (uint32_t)gpu);
	} else {
		request.gpu = (uint32_t)gpu;
		status = front_ends_create(capture, &hooks.front_ends, &request, queue, &why);
		unwrapped_check(); /* the program has loaded the libraries that it uses by now */
	}
	if (gpu >= 0 && hooks.is_moved_by_hsa && status == HSA_STATUS_SUCCESS)
		recorder_count(capture_recorder(capture), RTL_P_rings_moved, 1);
	if (why && status == HSA_STATUS_SUCCESS)
		report_plain_queue(why);
	return status;
}

/*
 * Returns why a queue made by descriptor is not followed; NULL if it is, or if it is not counted.
 */
static const char *desc_follow(
	struct capture *capture, int gpu, const struct hsa_later_queue_desc *desc)
{
	if (!desc->queue)
		return NULL;
	/* Copy engines have rings of another kind, without kernels. */
	if (desc->engine_type != HSA_LATER_ENGINE_COMPUTE) {
		if (desc->engine_type == HSA_LATER_ENGINE_SDMA)
			recorder_count(capture_recorder(capture), RTL_P_copy_queues_unseen, 1);
		return NULL;
	}
	if (gpu < 0)
		return queue_is_plain(capture, RTL_P_queues_ineligible, why_no_gpu);
	if (desc->compute.type == HSA_QUEUE_TYPE_COOPERATIVE)
		return front_ends_share(capture, &hooks.front_ends, desc->queue, (uint32_t)gpu);
	/* Rule 15: slow and unreliable to read back. */
	if (desc->flags != HSA_LATER_SYSTEM_MEMORY)
		return queue_is_plain(capture, RTL_P_queues_ineligible, front_ends_why_device_ring);
	return front_ends_adopt(capture, &hooks.front_ends, desc->queue, (uint32_t)gpu);
}

/* Whether CLR would have put this ring into GPU memory without our variable. */
static bool is_clr_s_device_ring(const struct hsa_later_queue_desc *desc, int gpu)
{
	const char *gfx = hooks.agents->gpu[gpu].gfx;

	return hooks.is_moved_by_clr && desc->engine_type == HSA_LATER_ENGINE_COMPUTE &&
	       desc->flags == HSA_LATER_SYSTEM_MEMORY &&
	       (!strncmp(gfx, "gfx94", 5) || !strncmp(gfx, "gfx125", 6));
}

static void ring_count(struct capture *capture, const struct hsa_later_queue_desc *wanted,
	const struct hsa_later_queue_desc *made, int gpu)
{
	if (made->queue && gpu >= 0 &&
		(made->flags != wanted->flags || is_clr_s_device_ring(wanted, gpu)))
		recorder_count(capture_recorder(capture), RTL_P_rings_moved, 1);
}

static hsa_status_t hook_hsa_amd_queue_create(
	hsa_agent_t agent, struct hsa_later_queue_desc *descs, uint32_t count)
{
	struct capture *capture = capture_in_use();
	struct hsa_later_queue_desc *copies = NULL, *made = descs;
	bool is_known = capture && descs && count;
	hsa_status_t status;
	int gpu;

	update_rank(capture, false);
	/* Another version has another size, so its descriptors cannot be read. */
	if (is_known && descs[0].version != HSA_LATER_DESC_VERSION) {
		status = REAL(hsa_amd_queue_create)(agent, descs, count);
		if (status == HSA_STATUS_SUCCESS)
			report_plain_queue(queue_is_plain(capture, RTL_P_queues_ineligible,
				"its descriptor is of a version that is not known"));
		return status;
	}
	/* Some queues may be created while others fail. The field tells, so it is cleared first. */
	for (uint32_t i = 0; is_known && i < count; i++)
		descs[i].queue = NULL;
	gpu = is_known ? agents_find(hooks.agents, agent) : -1;
	if (gpu >= 0 && hooks.front_ends.first && !hooks.keeps_rings)
		copies = host_rings_ask(descs, count);
	if (copies)
		made = copies;
	status = REAL(hsa_amd_queue_create)(agent, made, count);
	if (copies)
		status = host_rings_settle(
			REAL(hsa_amd_queue_create), agent, descs, copies, count, status);
	for (uint32_t i = 0; is_known && i < count; i++) {
		const char *why = desc_follow(capture, gpu, &made[i]);

		ring_count(capture, &descs[i], &made[i], gpu);
		if (why)
			report_plain_queue(why);
	}
	free(copies);
	return status;
}

static hsa_status_t hook_hsa_amd_sdma_queue_create(
	hsa_agent_t agent, uint32_t flags, uint32_t engine, uint64_t zero, void *queue)
{
	hsa_status_t status = REAL(hsa_amd_sdma_queue_create)(agent, flags, engine, zero, queue);
	struct capture *capture = capture_in_use();

	if (capture && status == HSA_STATUS_SUCCESS)
		recorder_count(capture_recorder(capture), RTL_P_copy_queues_unseen, 1);
	return status;
}

static hsa_status_t hook_hsa_amd_counted_queue_acquire(hsa_agent_t agent, hsa_queue_type_t type,
	int priority, void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
	uint64_t flags, hsa_queue_t **queue)
{
	hsa_status_t status = REAL(hsa_amd_counted_queue_acquire)(
		agent, type, priority, callback, data, flags, queue);
	struct capture *capture = capture_in_use();

	if (capture && status == HSA_STATUS_SUCCESS)
		report_plain_queue(queue_is_plain(capture, RTL_P_queues_ineligible,
			"it is a counted one, which the runtime shares out"));
	return status;
}

static hsa_status_t hook_hsa_amd_counted_queue_release(hsa_queue_t *queue)
{
	hsa_status_t status = REAL(hsa_amd_counted_queue_release)(queue);
	struct capture *capture = capture_in_use();

	if (capture && status == HSA_STATUS_SUCCESS)
		recorder_count(capture_recorder(capture), RTL_P_queues_destroyed, 1);
	return status;
}

static hsa_status_t hook_hsa_queue_destroy(hsa_queue_t *queue)
{
	struct capture *capture = capture_in_use();

	return capture ? front_ends_destroy(capture, queue, REAL(hsa_queue_destroy))
		       : REAL(hsa_queue_destroy)(queue);
}

/* A tool that was loaded after us creates its queues; we go between it and the device. */
static hsa_status_t hook_hsa_amd_queue_intercept_create(hsa_agent_t agent, uint32_t size,
	hsa_queue_type32_t type, void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
	uint32_t private_segment_size, uint32_t group_segment_size, hsa_queue_t **queue)
{
	struct capture *capture = capture_in_use();
	struct queue_request request = {
		agent, 0, size, type, callback, data, private_segment_size, group_segment_size};
	int gpu = capture ? agents_find(hooks.agents, agent) : -1;
	hsa_status_t status;
	const char *why;

	if (gpu < 0)
		return REAL(hsa_amd_queue_intercept_create)(agent, size, type, callback, data,
			private_segment_size, group_segment_size, queue);
	request.gpu = (uint32_t)gpu;
	status = front_ends_intercept(capture, &hooks.front_ends, &request, queue, &why);
	if (why && status == HSA_STATUS_SUCCESS)
		report_plain_queue(why);
	return status;
}

/*
 * A program with the raw doorbell would ring without us. Programs that ask for it handle a refusal.
 */
static hsa_status_t hook_hsa_amd_queue_get_info(hsa_queue_t *queue, uint32_t attribute, void *value)
{
	if (attribute == QUEUE_INFO_DOORBELL_ID && followed(queue))
		return HSA_STATUS_ERROR_INVALID_ARGUMENT;
	return REAL(hsa_amd_queue_get_info)(queue, attribute, value);
}

/*
 * If profiling were off, the device would write no times, and each record would wait for them in
 * vain.
 */
static hsa_status_t hook_hsa_amd_profiling_set_profiler_enabled(hsa_queue_t *queue, int enable)
{
	struct capture *capture = capture_in_use();
	bool is_followed =
		capture && (shadow_of_queue(capture, queue) || intercept_origins(capture, queue));

	return REAL(hsa_amd_profiling_set_profiler_enabled)(queue, is_followed ? 1 : enable);
}

/* ---- signals that are destroyed or used again ------------------------------------------ */

static hsa_status_t hook_hsa_signal_destroy(hsa_signal_t signal)
{
	struct capture *capture = capture_in_use();

	if (capture) {
		harvest_signal_destroy(capture, signal);
		ipc_remove(signal.handle);
	}
	return REAL(hsa_signal_destroy)(signal);
}

static hsa_status_t hook_hsa_amd_ipc_signal_create(
	hsa_signal_t signal, hsa_amd_ipc_signal_t *handle)
{
	hsa_status_t status = REAL(hsa_amd_ipc_signal_create)(signal, handle);

	if (status == HSA_STATUS_SUCCESS && capture_in_use())
		ipc_add(signal.handle);
	return status;
}

static hsa_status_t hook_hsa_amd_ipc_signal_attach(
	const hsa_amd_ipc_signal_t *handle, hsa_signal_t *signal)
{
	hsa_status_t status = REAL(hsa_amd_ipc_signal_attach)(handle, signal);

	if (status == HSA_STATUS_SUCCESS && capture_in_use())
		ipc_add(signal->handle);
	return status;
}

/* ---- copies ---------------------------------------------------------------------------------- */

/*
 * If NULL, the caller calls the original. Reads the times of the signal's last use before the next
 * one.
 */
static struct capture *copy_capture(hsa_signal_t completion)
{
	struct capture *capture = capture_in_use();

	if (capture && completion.handle)
		harvest_signal_reuse(capture, completion);
	return capture;
}

static hsa_status_t hook_hsa_amd_memory_async_copy(void *dst, hsa_agent_t dst_agent,
	const void *src, hsa_agent_t src_agent, size_t bytes, uint32_t num_dep,
	const hsa_signal_t *dep, hsa_signal_t completion)
{
	hsa_status_t status;
	struct copy copy;

	if (!copy_capture(completion))
		return REAL(hsa_amd_memory_async_copy)(
			dst, dst_agent, src, src_agent, bytes, num_dep, dep, completion);
	copy = copy_linear(RTL_COPY_ASYNC, dst, dst_agent, src, src_agent, bytes, completion);
	copy.deps = num_dep;
	copy.dep = dep;
	copy_begin(&copy);
	status = REAL(hsa_amd_memory_async_copy)(
		dst, dst_agent, src, src_agent, bytes, num_dep, dep, completion);
	copy_end(&copy, status == HSA_STATUS_SUCCESS);
	return status;
}

static hsa_status_t hook_hsa_amd_memory_async_copy_on_engine(void *dst, hsa_agent_t dst_agent,
	const void *src, hsa_agent_t src_agent, size_t bytes, uint32_t num_dep,
	const hsa_signal_t *dep, hsa_signal_t completion, uint32_t engine, bool force)
{
	hsa_status_t status;
	struct copy copy;

	if (!copy_capture(completion))
		return REAL(hsa_amd_memory_async_copy_on_engine)(dst, dst_agent, src, src_agent,
			bytes, num_dep, dep, completion, engine, force);
	copy = copy_linear(RTL_COPY_ON_ENGINE, dst, dst_agent, src, src_agent, bytes, completion);
	copy.engine = engine;
	copy.deps = num_dep;
	copy.dep = dep;
	copy_begin(&copy);
	status = REAL(hsa_amd_memory_async_copy_on_engine)(
		dst, dst_agent, src, src_agent, bytes, num_dep, dep, completion, engine, force);
	copy_end(&copy, status == HSA_STATUS_SUCCESS);
	return status;
}

static hsa_status_t hook_hsa_amd_memory_async_copy_rect(const hsa_pitched_ptr_t *dst,
	const hsa_dim3_t *dst_offset, const hsa_pitched_ptr_t *src, const hsa_dim3_t *src_offset,
	const hsa_dim3_t *range, hsa_agent_t copy_agent, hsa_amd_copy_direction_t direction,
	uint32_t num_dep, const hsa_signal_t *dep, hsa_signal_t completion)
{
	hsa_status_t status;
	struct copy copy;

	if (!copy_capture(completion))
		return REAL(hsa_amd_memory_async_copy_rect)(dst, dst_offset, src, src_offset, range,
			copy_agent, direction, num_dep, dep, completion);
	copy = copy_rect(dst, src, range, copy_agent, direction, completion);
	copy.deps = num_dep;
	copy.dep = dep;
	copy_begin(&copy);
	status = REAL(hsa_amd_memory_async_copy_rect)(dst, dst_offset, src, src_offset, range,
		copy_agent, direction, num_dep, dep, completion);
	copy_end(&copy, status == HSA_STATUS_SUCCESS);
	return status;
}

static hsa_status_t hook_hsa_amd_memory_async_batch_copy(const struct hsa_table_copy_op *ops,
	uint32_t count, uint32_t num_dep, const hsa_signal_t *dep)
{
	struct capture *capture = capture_in_use();
	struct copy_batch batch;
	hsa_status_t status;

	if (!capture)
		return REAL(hsa_amd_memory_async_batch_copy)(ops, count, num_dep, dep);
	for (uint32_t i = 0; ops && i < count; i++)
		if (ops[i].completion.handle)
			harvest_signal_reuse(capture, ops[i].completion);
	batch = copy_batch_begin(ops, count);
	status = REAL(hsa_amd_memory_async_batch_copy)(ops, count, num_dep, dep);
	copy_batch_end(&batch, status == HSA_STATUS_SUCCESS);
	return status;
}

static hsa_status_t hook_hsa_amd_profiling_async_copy_enable(bool enable)
{
	return REAL(hsa_amd_profiling_async_copy_enable)(
		enable || (capture_in_use() && copies_are_timed()));
}

/* ---- code ------------------------------------------------------------------------------------ */

static hsa_status_t hook_hsa_executable_freeze(hsa_executable_t executable, const char *options)
{
	struct capture *capture = capture_in_use();
	hsa_status_t status = REAL(hsa_executable_freeze)(executable, options);

	update_rank(capture, true);
	if (status == HSA_STATUS_SUCCESS && capture)
		symbols_add_executable(hooks.symbols, hooks.table, hooks.agents, executable);
	return status;
}

static hsa_status_t hook_hsa_executable_destroy(hsa_executable_t executable)
{
	struct capture *capture = capture_in_use();

	if (capture)
		symbols_remove_executable(hooks.symbols, hooks.table, hooks.agents, executable);
	return REAL(hsa_executable_destroy)(executable);
}

/* ---- the life of the runtime ----------------------------------------------------------- */

/* Number of hsa_init() calls without hsa_shut_down(). The tables come during the first one. */
static _Atomic uint32_t inits;

static hsa_status_t hook_hsa_init(void)
{
	hsa_status_t status = REAL(hsa_init)();

	if (status == HSA_STATUS_SUCCESS)
		atomic_fetch_add_explicit(&inits, 1, memory_order_relaxed);
	return status;
}

static hsa_status_t hook_hsa_shut_down(void)
{
	uint32_t count = atomic_load_explicit(&inits, memory_order_relaxed);

	/* The program may call it once too often; then there is nothing to subtract. */
	while (count && !atomic_compare_exchange_weak(&inits, &count, count - 1))
		;
	if (count == 1 && capture_in_use())
		hooks.before_last_shut_down();
	return REAL(hsa_shut_down)();
}

/* ---- installing ------------------------------------------------------------------------ */

/* All functions that we replace; X(name). */
#define HOOKS(X)                                                                                   \
	X(hsa_init)                                                                                \
	X(hsa_shut_down)                                                                           \
	X(hsa_queue_load_write_index_scacquire)                                                    \
	X(hsa_queue_load_write_index_relaxed)                                                      \
	X(hsa_queue_store_write_index_relaxed)                                                     \
	X(hsa_queue_store_write_index_screlease)                                                   \
	X(hsa_queue_cas_write_index_scacq_screl)                                                   \
	X(hsa_queue_cas_write_index_scacquire)                                                     \
	X(hsa_queue_cas_write_index_relaxed)                                                       \
	X(hsa_queue_cas_write_index_screlease)                                                     \
	X(hsa_queue_add_write_index_scacq_screl)                                                   \
	X(hsa_queue_add_write_index_scacquire)                                                     \
	X(hsa_queue_add_write_index_relaxed)                                                       \
	X(hsa_queue_add_write_index_screlease)                                                     \
	X(hsa_signal_store_relaxed)                                                                \
	X(hsa_signal_store_screlease)                                                              \
	X(hsa_signal_silent_store_relaxed)                                                         \
	X(hsa_signal_silent_store_screlease)                                                       \
	X(hsa_signal_destroy)                                                                      \
	X(hsa_amd_ipc_signal_create)                                                               \
	X(hsa_amd_ipc_signal_attach)                                                               \
	X(hsa_amd_memory_async_copy)                                                               \
	X(hsa_amd_memory_async_copy_on_engine)                                                     \
	X(hsa_amd_memory_async_copy_rect)                                                          \
	X(hsa_amd_memory_async_batch_copy)                                                         \
	X(hsa_amd_profiling_async_copy_enable)                                                     \
	X(hsa_amd_profiling_set_profiler_enabled)                                                  \
	X(hsa_executable_freeze)                                                                   \
	X(hsa_executable_destroy)                                                                  \
	X(hsa_queue_destroy)                                                                       \
	X(hsa_amd_queue_intercept_create)                                                          \
	X(hsa_queue_create)                                                                        \
	X(hsa_amd_queue_get_info)                                                                  \
	X(hsa_amd_counted_queue_acquire)                                                           \
	X(hsa_amd_counted_queue_release)                                                           \
	X(hsa_amd_sdma_queue_create)                                                               \
	X(hsa_amd_queue_create)

bool hooks_are_installed(const struct hsa_table *table)
{
	/* A function that debug.c does not wrap. */
	return table->real.hsa_queue_add_write_index_relaxed ==
	       hook_hsa_queue_add_write_index_relaxed;
}

bool hooks_are_taken_out(void)
{
#define IS_ORIGINAL(name)                                                                          \
	if (hooks.table->slot.name && __atomic_load_n(hooks.table->slot.name, __ATOMIC_RELAXED) == \
					      hooks.table->real.name)                              \
		return true;
	HOOKS(IS_ORIGINAL)
	return false;
}

void hooks_remove(void)
{
	atomic_store_explicit(&hooks_current, NULL, memory_order_release);
}

void hooks_install(const struct hooks *new_hooks)
{
	hooks = *new_hooks;
	atomic_store_explicit(&inits, 1, memory_order_relaxed);
	atomic_store_explicit(&hooks_current, hooks.capture, memory_order_release);
#define INSTALL(name)                                                                              \
	if (hooks.table->slot.name)                                                                \
		*hooks.table->slot.name = hook_##name;
	HOOKS(INSTALL)
	waits_install(hooks.table);
}

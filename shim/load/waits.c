/* SPDX-License-Identifier: MIT */
#include "shim/load/waits.h"

#include <stdlib.h>

#include "proto/base/clock.h"
#include "shim/capture/capture.h"
#include "shim/capture/ends.h"
#include "shim/capture/front_ends/shadow.h"
#include "shim/events/signal_edges.h"
#include "shim/load/hooks.h"

/* Written in OnLoad before the wrappers are in any table. */
static const struct hsa_table *table;

#define REAL(name) (table->real.name)

/* Not inlined, so that calls which see no end need not save registers. */
__attribute__((noinline)) void waits_record_ends(void)
{
	struct capture *capture = hooks_capture();

	if (capture && !capture_is_pass_through(capture))
		ends_look(capture);
}

/*
 * Called before a wait. If this thread has abandoned a walk, the kernel that it waits for would
 * never start. @place is the frame of the wrapper: one of a function that it calls may lie deeper
 * than that of the doorbell did. Returns when the wait begins if that is to be recorded, else 0.
 */
static __attribute__((noinline)) uint64_t waits_begin(const void *place)
{
	struct capture *capture = hooks_capture();

	if (!capture || capture_is_pass_through(capture))
		return 0;
	shadow_find_left(capture, (uintptr_t)place);
	return signal_edges_are_recorded() ? clock_boottime_ns() : 0;
}

/* Called after a wait for @signal that was successful; @start_ns as waits_begin() returned it. */
static __attribute__((noinline)) void waits_end(hsa_signal_t signal, uint64_t start_ns)
{
	waits_record_ends();
	if (start_ns)
		signal_edge_of_wait(signal, start_ns);
}

/* ---- loads that return the value of an end --------------------------------------------- */

#define HOOK_LOAD(name)                                                                            \
	static hsa_signal_value_t hook_##name(hsa_signal_t signal)                                 \
	{                                                                                          \
		hsa_signal_value_t value = REAL(name)(signal);                                     \
                                                                                                   \
		if (value < 1)                                                                     \
			waits_record_ends();                                                       \
		return value;                                                                      \
	}

HOOK_LOAD(hsa_signal_load_relaxed)
HOOK_LOAD(hsa_signal_load_scacquire)

/* ---- waits that were successful -------------------------------------------------------- */

static bool is_met(
	hsa_signal_condition_t condition, hsa_signal_value_t value, hsa_signal_value_t compared_to)
{
	switch (condition) {
	case HSA_SIGNAL_CONDITION_EQ:
		return value == compared_to;
	case HSA_SIGNAL_CONDITION_NE:
		return value != compared_to;
	case HSA_SIGNAL_CONDITION_LT:
		return value < compared_to;
	case HSA_SIGNAL_CONDITION_GTE:
		return value >= compared_to;
	}
	return true;
}

#define HOOK_WAIT(name)                                                                            \
	static hsa_signal_value_t hook_##name(hsa_signal_t signal,                                 \
		hsa_signal_condition_t condition, hsa_signal_value_t compared_to,                  \
		uint64_t timeout_hint, hsa_wait_state_t wait_hint)                                 \
	{                                                                                          \
		uint64_t start_ns = waits_begin(__builtin_frame_address(0));                       \
		hsa_signal_value_t value =                                                         \
			REAL(name)(signal, condition, compared_to, timeout_hint, wait_hint);       \
                                                                                                   \
		if (is_met(condition, value, compared_to))                                         \
			waits_end(signal, start_ns);                                               \
		return value;                                                                      \
	}

HOOK_WAIT(hsa_signal_wait_relaxed)
HOOK_WAIT(hsa_signal_wait_scacquire)

#define HOOK_GROUP_WAIT(name)                                                                      \
	static hsa_status_t hook_##name(hsa_signal_group_t group,                                  \
		const hsa_signal_condition_t *conditions, const hsa_signal_value_t *values,        \
		hsa_wait_state_t wait_hint, hsa_signal_t *signal, hsa_signal_value_t *value)       \
	{                                                                                          \
		hsa_status_t status;                                                               \
                                                                                                   \
		(void)waits_begin(__builtin_frame_address(0));                                     \
		status = REAL(name)(group, conditions, values, wait_hint, signal, value);          \
		waits_record_ends();                                                               \
		return status;                                                                     \
	}

HOOK_GROUP_WAIT(hsa_signal_group_wait_any_scacquire)
HOOK_GROUP_WAIT(hsa_signal_group_wait_any_relaxed)

/* @first, @end: the signals that the thread has seen. */
#define HOOK_WAIT_SEVERAL(name, first, end)                                                        \
	static uint32_t hook_##name(uint32_t count, hsa_signal_t *signals,                         \
		hsa_signal_condition_t *conditions, hsa_signal_value_t *values,                    \
		uint64_t timeout_hint, hsa_wait_state_t wait_hint, hsa_signal_value_t *satisfying) \
	{                                                                                          \
		uint64_t start_ns = waits_begin(__builtin_frame_address(0));                       \
		uint32_t index = REAL(name)(                                                       \
			count, signals, conditions, values, timeout_hint, wait_hint, satisfying);  \
                                                                                                   \
		if (index == UINT32_MAX)                                                           \
			return index;                                                              \
		waits_record_ends();                                                               \
		for (uint32_t i = first; start_ns && i < (end) && i < count; i++)                  \
			signal_edge_of_wait(signals[i], start_ns);                                 \
		return index;                                                                      \
	}

HOOK_WAIT_SEVERAL(hsa_amd_signal_wait_any, index, index + 1)
HOOK_WAIT_SEVERAL(hsa_amd_signal_wait_all, 0, count)

/* Returns when the copy is done, and what it is ordered after. */
static hsa_status_t hook_hsa_memory_copy(void *dst, const void *src, size_t bytes)
{
	hsa_status_t status = REAL(hsa_memory_copy)(dst, src, bytes);

	waits_record_ends();
	return status;
}

/* ---- callbacks ------------------------------------------------------------------------- */

struct callback {
	hsa_amd_signal_handler handler;
	void *argument;
};

/*
 * Runs on the runtime's thread. The program's function may set a word that another of its threads
 * reads without a call of the runtime, so the ends are recorded before it.
 */
static bool on_signal(hsa_signal_value_t value, void *data)
{
	struct callback callback = *(struct callback *)data;

	waits_record_ends();
	/* Freed after false, when the runtime does not call it again. */
	if (callback.handler(value, callback.argument))
		return true;
	free(data);
	return false;
}

static hsa_status_t hook_hsa_amd_signal_async_handler(hsa_signal_t signal,
	hsa_signal_condition_t condition, hsa_signal_value_t value, hsa_amd_signal_handler handler,
	void *argument)
{
	struct capture *capture = hooks_capture();
	struct callback *callback = NULL;
	hsa_status_t status;

	if (handler && capture && !capture_is_pass_through(capture))
		callback = malloc(sizeof(*callback));
	if (!callback)
		return REAL(hsa_amd_signal_async_handler)(
			signal, condition, value, handler, argument);
	*callback = (struct callback){handler, argument};
	status = REAL(hsa_amd_signal_async_handler)(signal, condition, value, on_signal, callback);
	if (status != HSA_STATUS_SUCCESS)
		free(callback);
	return status;
}

/* ---- installing ------------------------------------------------------------------------ */

/* All functions that we replace here; X(name). */
#define WAITS(X)                                                                                   \
	X(hsa_signal_load_relaxed)                                                                 \
	X(hsa_signal_load_scacquire)                                                               \
	X(hsa_signal_wait_relaxed)                                                                 \
	X(hsa_signal_wait_scacquire)                                                               \
	X(hsa_signal_group_wait_any_scacquire)                                                     \
	X(hsa_signal_group_wait_any_relaxed)                                                       \
	X(hsa_memory_copy)                                                                         \
	X(hsa_amd_signal_wait_any)                                                                 \
	X(hsa_amd_signal_wait_all)                                                                 \
	X(hsa_amd_signal_async_handler)

void waits_install(const struct hsa_table *new_table)
{
	table = new_table;
#define INSTALL(name)                                                                              \
	if (table->slot.name)                                                                      \
		*table->slot.name = hook_##name;
	WAITS(INSTALL)
}

/* SPDX-License-Identifier: MIT */
#include "shim/wrap/roctx.h"

#include <stddef.h>
#include <string.h>

#include "proto/names/counters.h"
#include "shim/base/gate.h"
#include "shim/events/markers.h"
#include "shim/wrap/rccl.h"
#include "shim/wrap/roctx_real.h"
#include "shim/base/thread.h"

#define EXPORT __attribute__((visibility("default")))

/* Versions of libroctx64, unchanged for years. */
#define VERSION_MAJOR 4u
#define VERSION_MINOR 1u

EXPORT void roctxMarkA(const char *message)
{
	const struct roctx_real *real = roctx_real();

	markers_mark(message);
	if (real->roctxMarkA)
		real->roctxMarkA(message);
}

EXPORT void roctxMark(const char *message)
{
	roctxMarkA(message);
}

/* The real library counts its own levels, and the program expects those. */
EXPORT int roctxRangePushA(const char *message)
{
	const struct roctx_real *real = roctx_real();
	int level = markers_push(message);

	return real->roctxRangePushA ? real->roctxRangePushA(message) : level;
}

EXPORT int roctxRangePush(const char *message)
{
	return roctxRangePushA(message);
}

EXPORT int roctxRangePop(void)
{
	const struct roctx_real *real = roctx_real();
	int level = markers_pop();

	return real->roctxRangePop ? real->roctxRangePop() : level;
}

EXPORT roctx_range_id roctxRangeStartA(const char *message)
{
	const struct roctx_real *real = roctx_real();
	roctx_range_id id =
		real->roctxRangeStartA ? real->roctxRangeStartA(message) : markers_start_id();

	markers_start(id, message);
	return id;
}

EXPORT roctx_range_id roctxRangeStart(const char *message)
{
	return roctxRangeStartA(message);
}

EXPORT void roctxRangeStop(roctx_range_id id)
{
	const struct roctx_real *real = roctx_real();

	markers_stop(id);
	if (real->roctxRangeStop)
		real->roctxRangeStop(id);
}

EXPORT uint32_t roctx_version_major(void)
{
	const struct roctx_real *real = roctx_real();

	return real->roctx_version_major ? real->roctx_version_major() : VERSION_MAJOR;
}

EXPORT uint32_t roctx_version_minor(void)
{
	const struct roctx_real *real = roctx_real();

	return real->roctx_version_minor ? real->roctx_version_minor() : VERSION_MINOR;
}

/* The callback belongs to the real library; the shim needs none. */
EXPORT void roctxRegisterTracerCallback(roctx_tracer_callback callback)
{
	const struct roctx_real *real = roctx_real();

	if (real->roctxRegisterTracerCallback)
		real->roctxRegisterTracerCallback(callback);
}

/* Pauses the whole process. A request for one thread is only passed on. */
EXPORT int roctxProfilerPause(roctx_thread_id thread)
{
	const struct roctx_real *real = roctx_real();

	if (!thread)
		gate_pause();
	return real->roctxProfilerPause ? real->roctxProfilerPause(thread) : 0;
}

EXPORT int roctxProfilerResume(roctx_thread_id thread)
{
	const struct roctx_real *real = roctx_real();

	if (!thread)
		gate_resume();
	return real->roctxProfilerResume ? real->roctxProfilerResume(thread) : 0;
}

EXPORT int roctxNameOsThread(const char *name)
{
	const struct roctx_real *real = roctx_real();

	markers_name(RTL_MARKER_NAME_THREAD, thread_state_tid(), name);
	return real->roctxNameOsThread ? real->roctxNameOsThread(name) : 0;
}

/* An agent is a struct with one 64-bit handle. */
EXPORT int roctxNameHsaAgent(const char *name, const struct hsa_agent_s *agent)
{
	const struct roctx_real *real = roctx_real();
	uint64_t handle = 0;

	if (agent)
		memcpy(&handle, agent, sizeof(handle));
	markers_name(RTL_MARKER_NAME_AGENT, handle, name);
	return real->roctxNameHsaAgent ? real->roctxNameHsaAgent(name, agent) : 0;
}

EXPORT int roctxNameHipDevice(const char *name, int device)
{
	const struct roctx_real *real = roctx_real();

	markers_name(RTL_MARKER_NAME_DEVICE, (uint32_t)device, name);
	return real->roctxNameHipDevice ? real->roctxNameHipDevice(name, device) : 0;
}

EXPORT int roctxNameHipStream(const char *name, const struct ihipStream_t *stream)
{
	const struct roctx_real *real = roctx_real();

	markers_name(RTL_MARKER_NAME_STREAM, (uintptr_t)stream, name);
	return real->roctxNameHipStream ? real->roctxNameHipStream(name, stream) : 0;
}

EXPORT int roctxGetThreadId(roctx_thread_id *ret)
{
	const struct roctx_real *real = roctx_real();

	if (real->roctxGetThreadId)
		return real->roctxGetThreadId(ret);
	if (!ret)
		return -1;
	*ret = thread_state_tid();
	return 0;
}

/* ---- look-ups by name ------------------------------------------------------------------ */

struct by_name {
	const char *name;
	const void *function;
};

#define BY_NAME(name) {#name, (const void *)name},
static const struct by_name by_name[] = {ROCTX_CHAINED(BY_NAME)};

static bool has(const char *name, unsigned *ret)
{
	for (unsigned i = 0; i < sizeof(by_name) / sizeof(by_name[0]); i++) {
		if (strcmp(by_name[i].name, name))
			continue;
		*ret = i;
		return true;
	}
	return false;
}

static bool is_wrapper(unsigned symbol, const void *function)
{
	return by_name[symbol].function == function;
}

/*
 * Our functions pass calls on to one library. A look-up that has found another library gets that
 * library's function.
 */
static void *wrap(unsigned symbol, void *function)
{
	return roctx_real_has(symbol, function) ? (void *)(uintptr_t)by_name[symbol].function
						: function;
}

const struct wrapped roctx_wrapped = {has, is_wrapper, NULL, wrap};

static const struct wrapped *const all_wrapped[] = {&rccl_wrapped, &roctx_wrapped};

EXPORT const struct wrapped *rtl_wrapped(unsigned index)
{
	return index < sizeof(all_wrapped) / sizeof(all_wrapped[0]) ? all_wrapped[index] : NULL;
}

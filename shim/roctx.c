/* SPDX-License-Identifier: MIT */
#include "shim/roctx.h"
#include "shim/glibc_compat.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "shim/markers.h"

#define EXPORT __attribute__((visibility("default")))

/* Not looked for yet; NULL: there is none after us. */
#define UNKNOWN ((void *)1)

/* The real function behind ours, looked for once. */
static void *real_find(void *_Atomic *cache, const char *name)
{
	void *real = atomic_load_explicit(cache, memory_order_acquire);

	if (real == UNKNOWN) {
		real = dlsym(RTLD_NEXT, name);
		atomic_store_explicit(cache, real, memory_order_release);
	}
	return real;
}

#define REAL(variable, name)                                                                       \
	__typeof__(name) *variable = NULL;                                                         \
	do {                                                                                       \
		static void *_Atomic cache_ = UNKNOWN;                                             \
		void *real_ = real_find(&cache_, #name);                                           \
		memcpy(&variable, &real_, sizeof(real_));                                          \
	} while (0)

EXPORT void roctxMarkA(const char *message)
{
	REAL(real, roctxMarkA);
	markers_mark(message);
	if (real)
		real(message);
}

EXPORT void roctxMark(const char *message)
{
	roctxMarkA(message);
}

/* The real one has its own stack and is asked last, so that the level is its. */
EXPORT int roctxRangePushA(const char *message)
{
	REAL(real, roctxRangePushA);
	int level = markers_push(message);

	return real ? real(message) : level;
}

EXPORT int roctxRangePush(const char *message)
{
	return roctxRangePushA(message);
}

EXPORT int roctxRangePop(void)
{
	REAL(real, roctxRangePop);
	int level = markers_pop();

	return real ? real() : level;
}

EXPORT roctx_range_id roctxRangeStartA(const char *message)
{
	REAL(real, roctxRangeStartA);
	roctx_range_id id = real ? real(message) : markers_start_id();

	markers_start(id, message);
	return id;
}

EXPORT roctx_range_id roctxRangeStart(const char *message)
{
	return roctxRangeStartA(message);
}

EXPORT void roctxRangeStop(roctx_range_id id)
{
	REAL(real, roctxRangeStop);
	markers_stop(id);
	if (real)
		real(id);
}

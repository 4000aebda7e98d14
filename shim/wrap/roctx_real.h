/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The real roctx library behind our functions, libroctx64 or librocprofiler-sdk-roctx, in whatever
 * scope the program has loaded it. Any application thread.
 */
#include <stdbool.h>

#include "shim/wrap/roctx.h"

/* All functions that we chain to the real library. */
#define ROCTX_CHAINED(X)                                                                           \
	X(roctxMarkA)                                                                              \
	X(roctxRangePushA)                                                                         \
	X(roctxRangePop)                                                                           \
	X(roctxRangeStartA)                                                                        \
	X(roctxRangeStop)                                                                          \
	X(roctx_version_major)                                                                     \
	X(roctx_version_minor)                                                                     \
	X(roctxRegisterTracerCallback)                                                             \
	X(roctxProfilerPause)                                                                      \
	X(roctxProfilerResume)                                                                     \
	X(roctxNameOsThread)                                                                       \
	X(roctxNameHsaAgent)                                                                       \
	X(roctxNameHipDevice)                                                                      \
	X(roctxNameHipStream)                                                                      \
	X(roctxGetThreadId)

/* A member is NULL if the library does not have the function. */
struct roctx_real {
#define ROCTX_MEMBER(name) __typeof__(&name) name;
	ROCTX_CHAINED(ROCTX_MEMBER)
#undef ROCTX_MEMBER
};

/*
 * The library is found once for all its functions, so that what is pushed there is popped there.
 * Without one every member is NULL. Then it is searched again at the 2nd, 4th, 8th, ... call if
 * anything was loaded meanwhile, since a program may load it late.
 */
const struct roctx_real *roctx_real(void);

/* Whether ROCTX_CHAINED's @member is chained to @function; searches for the library now. */
bool roctx_real_has(unsigned member, const void *function);

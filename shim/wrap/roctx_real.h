/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The real roctx library behind our functions, libroctx64 or librocprofiler-sdk-roctx, wherever
 * the program has it loaded. Any application thread.
 */
#include <stdbool.h>

#include "shim/wrap/roctx.h"

/* Every function that we chain. */
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

/* NULL: the library has none of that name. */
struct roctx_real {
#define ROCTX_MEMBER(name) __typeof__(&name) name;
	ROCTX_CHAINED(ROCTX_MEMBER)
#undef ROCTX_MEMBER
};

/*
 * The library as a whole: found once, for all its functions, so that what was pushed there is
 * popped there. Without one every member is NULL, and it is looked for again at the 2nd, 4th,
 * 8th, ... call, since a program may load it late, if anything was loaded since.
 */
const struct roctx_real *roctx_real(void);

/* Whether @function is the one that ROCTX_CHAINED's @member goes to; looks for the library now. */
bool roctx_real_has(unsigned member, const void *function);

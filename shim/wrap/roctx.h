/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The functions of libroctx64 and librocprofiler-sdk-roctx as we export them (shim.map). When we
 * are preloaded, programs linked to those libraries call these instead of the real ones. Any
 * application thread. The build needs no roctx header.
 */
#include <stdint.h>

#include "shim/wrap/wrapped.h"

typedef uint64_t roctx_range_id;
typedef uint64_t roctx_thread_id;

struct hsa_agent_s;
struct ihipStream_t;

/* In both libraries. */
void roctxMarkA(const char *message);
int roctxRangePushA(const char *message);
int roctxRangePop(void);
roctx_range_id roctxRangeStartA(const char *message);
void roctxRangeStop(roctx_range_id id);

/* The names in old headers. */
void roctxMark(const char *message);
int roctxRangePush(const char *message);
roctx_range_id roctxRangeStart(const char *message);

/* In libroctx64. */
uint32_t roctx_version_major(void);
uint32_t roctx_version_minor(void);
typedef int (*roctx_tracer_callback)(uint32_t domain, uint32_t operation, void *data);
void roctxRegisterTracerCallback(roctx_tracer_callback callback);

/* In librocprofiler-sdk-roctx. @thread 0 means all threads. */
int roctxProfilerPause(roctx_thread_id thread);
int roctxProfilerResume(roctx_thread_id thread);
int roctxNameOsThread(const char *name);
int roctxNameHsaAgent(const char *name, const struct hsa_agent_s *agent);
int roctxNameHipDevice(const char *name, int device);
int roctxNameHipStream(const char *name, const struct ihipStream_t *stream);
int roctxGetThreadId(roctx_thread_id *ret);

extern const struct wrapped roctx_wrapped;

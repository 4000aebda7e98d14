// SPDX-License-Identifier: MIT
/*
 * With LD_PRELOAD alone, the runtime loads the shim as a tool. ROCr from 5.4 on treats any loaded
 * library that exports HSA_AMD_TOOL_PRIORITY as a tool; 5.2 and 5.3 only read HSA_TOOLS_LIB. So the
 * preloaded shim adds itself there before main(); the user's own tools stay, in front. From 6.1 on
 * the runtime loads no tools if rocprofiler-sdk has its tables, unless
 * HSA_TOOLS_ROCPROFILER_V1_TOOLS is set, which the shim does, since otherwise OnUnload would not be
 * called. Setting these two variables, and remembering a few others, is all that the shim does in a
 * program without HSA.
 */
#include "shim/load/preload.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "shim/base/config.h"
#include "shim/base/glibc_compat.h"
#include "shim/load/onload.h"

#define TOOLS	 "HSA_TOOLS_LIB"
#define V1_TOOLS "HSA_TOOLS_ROCPROFILER_V1_TOOLS"

/* Room for the user's tools and our path. If that is not enough, the shim does not add itself. */
#define TOOLS_BYTES_MAX (2 * PATH_MAX)

/* Written by our constructor, so before any other function of ours runs. */
static bool was_asked_for;

bool preload_was_asked_for(void)
{
	return was_asked_for;
}

static const char *shim_path(void)
{
	Dl_info info;

	return dladdr((const void *)OnLoad, &info) ? info.dli_fname : NULL;
}

/*
 * gcc's address sanitizer ends a program if a library is loaded before its own, unless it is told
 * that this is intended. It calls this function, which its interface lets programs define, before
 * it reads ASAN_OPTIONS, which overrides the result. Other programs do not call it.
 */
__attribute__((visibility("default"))) const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "verify_asan_link_order=0";
}

/* Does nothing but find the clock if the shim was loaded as a tool only, or in a setuid program. */
__attribute__((constructor)) static void preload_register(void)
{
	const char *preloaded = getenv("LD_PRELOAD");
	const char *tools = getenv(TOOLS);
	const char *path = shim_path();
	const char *name = path ? strrchr(path, '/') : NULL;
	char value[TOOLS_BYTES_MAX];
	size_t bytes = tools ? strlen(tools) : 0;

	clock_find_shift(); /* ranges may begin before the runtime does */
	if (!name || !preloaded || !strstr(preloaded, name + 1) || getauxval(AT_SECURE))
		return;
	was_asked_for = true;
	config_remember((const char *const *)environ);
	/* A value set by the user, or by the rocprofiler-sdk of a parent, stays. */
	(void)setenv(V1_TOOLS, "1", 0);
	if (tools && strstr(tools, name + 1))
		return;
	if (bytes + 1 + strlen(path) + 1 > sizeof(value))
		return;
	if (bytes) {
		memcpy(value, tools, bytes);
		value[bytes++] = ' ';
	}
	strcpy(value + bytes, path);
	(void)setenv(TOOLS, value, 1); /* without memory nothing is recorded */
}

/* SPDX-License-Identifier: MIT */
#include "shim/wrap/unwrapped.h"
#include "shim/base/glibc_compat.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "proto/names/counters.h"
#include "proto/names/mode.h"
#include "shim/base/config.h"
#include "shim/events/calls.h"
#include "shim/events/events.h"
#include "shim/wrap/real.h"

#define OURS_SHIM  "/librtl-shim.so"
#define OURS_CALLS "/librtl-calls.so"

static const struct kind {
	enum rtl_process_counter counter;
	const char *function;	  /* represents all functions of its library */
	const char *ours;	  /* our library that must define it */
	const char *libraries[2]; /* libraries that also define it */
} kinds[] = {
	{RTL_P_unwrapped_roctx, "roctxRangePushA", OURS_SHIM,
		{"/libroctx64", "/librocprofiler-sdk-roctx"}},
	{RTL_P_unwrapped_rccl, "ncclAllReduce", OURS_SHIM, {"/librccl", "/libnccl"}},
	{RTL_P_unwrapped_hip, "hipModuleLaunchKernel", OURS_CALLS, {"/libamdhip64", NULL}},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static bool is_preload_asked_for;
static _Atomic bool is_counted[KINDS];

void unwrapped_begin(bool is_asked_for)
{
	is_preload_asked_for = is_asked_for;
	for (size_t i = 0; i < KINDS; i++)
		atomic_store(&is_counted[i], false);
	unwrapped_check();
}

static int match_library(struct dl_phdr_info *info, size_t bytes, void *data)
{
	const struct kind *kind = data;

	(void)bytes;
	for (size_t i = 0; i < 2 && kind->libraries[i]; i++)
		if (info->dlpi_name && strstr(info->dlpi_name, kind->libraries[i]))
			return 1;
	return 0;
}

/*
 * Whether look-ups in the program's scope, which contains the libraries at its start and those
 * opened globally, find our library.
 */
static bool is_wrapped(void *program, const struct kind *kind)
{
	real_dlsym_fn find = real_dlsym();
	void *found = find ? find(program, kind->function) : NULL;
	Dl_info info;

	return found && dladdr(found, &info) && info.dli_fname &&
	       strstr(info.dli_fname, kind->ours);
}

static bool is_wanted(const struct kind *kind)
{
	if (kind->counter == RTL_P_unwrapped_hip)
		return config_has(HOST_CALLS);
	/*
	 * If the shim was loaded by HSA_TOOLS_LIB alone, it misses calls only if one of
	 * kind->libraries is loaded.
	 */
	return is_preload_asked_for || dl_iterate_phdr(match_library, (void *)kind) == 1;
}

void unwrapped_check(void)
{
	void *program = dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD);

	for (size_t i = 0; program && i < KINDS; i++) {
		if (atomic_load(&is_counted[i]) || is_wrapped(program, &kinds[i]) ||
			!is_wanted(&kinds[i]))
			continue;
		if (!atomic_exchange(&is_counted[i], true))
			event_count(kinds[i].counter);
	}
	if (program)
		dlclose(program);
	(void)dlerror(); /* clears the message of failed look-ups, which the program must not see */
}

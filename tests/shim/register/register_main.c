/* SPDX-License-Identifier: MIT
 *
 * shim-register HOW WHEN KERNELS PLUGIN LATER_RUNTIME SDK: opens a library that uses the GPU, the
 * way HOW says, under a runtime that registers its tables (later_runtime.c). SDK is opened WHEN:
 * never, before the runtime comes up, after it did, or before it and again with a further client
 * after it. The kernels come in two halves, around what is opened after. Prints how many were
 * dispatched. WHEN is "life": the SDK is there before, and the runtime goes down and comes up again
 * between the halves. The runtime goes down before the program ends unless ENDS_BY_EXIT is set.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void require(bool ok, const char *what)
{
	const char *why = ok ? NULL : dlerror();

	if (ok)
		return;
	fprintf(stderr, "shim-register: %s: %s\n", what, why ? why : "?");
	exit(99);
}

static void *open_how(const char *how, const char *path)
{
	if (!strcmp(how, "namespace"))
		return dlmopen(LM_ID_NEWLM, path, RTLD_NOW | RTLD_LOCAL);
	return dlopen(path, RTLD_NOW | (strcmp(how, "global") ? RTLD_LOCAL : RTLD_GLOBAL));
}

/* The runtime may only read what was loaded before the main program's first call. */
static void later_runtime_put(const char *path)
{
	const char *tools = getenv("HSA_TOOLS_LIB");

	if (tools)
		setenv("LATER_TOOLS", tools, 1);
	setenv("HSA_TOOLS_LIB", path, 1);
}

/* A client of the SDK that comes late causes all tables to be passed out again. */
static void hand_out_again(void *later_runtime)
{
	int (*invoke)(void);
	void *found = dlsym(later_runtime, "rocprofiler_register_invoke_all_registrations");

	require(found, "rocprofiler_register_invoke_all_registrations");
	memcpy(&invoke, &found, sizeof(invoke));
	require(!invoke(), "no tool takes the tables");
}

int main(int argc, char **argv)
{
	bool is_before, is_after, is_twice, is_life;
	void *plugin, *later = NULL, *found;
	int (*work)(int kernels);
	int kernels, dispatched = 0;

	if (argc != 7)
		return 2;
	is_life = !strcmp(argv[2], "life");
	is_twice = !strcmp(argv[2], "twice");
	is_before = is_twice || is_life || !strcmp(argv[2], "before");
	is_after = !strcmp(argv[2], "after");
	kernels = atoi(argv[3]);
	later_runtime_put(argv[5]);
	if (is_before)
		setenv("ROCPROFILER_REGISTER_LIBRARY", argv[6], 1);
	/* Symbols are bound now. */
	if (!strcmp(argv[1], "deepbind"))
		later = dlopen(argv[5], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
	plugin = open_how(argv[1], argv[4]);
	require(plugin, argv[4]);
	found = dlsym(plugin, "guest_work");
	require(found, "guest_work");
	memcpy(&work, &found, sizeof(work));
	work(0);
	dispatched += work(kernels / 2);
	if (is_life) {
		work(-1);
		work(0);
	}
	if (is_after)
		setenv("ROCPROFILER_REGISTER_LIBRARY", argv[6], 1);
	if (is_twice || is_after) {
		if (!later)
			later = dlopen(argv[5], RTLD_NOW | RTLD_NOLOAD);
		require(later, argv[5]);
		hand_out_again(later);
		/* The existing queue stays as it was created. */
		work(0);
	}
	dispatched += work(kernels - kernels / 2);
	printf("dispatched %d\n", dispatched);
	if (!getenv("ENDS_BY_EXIT"))
		work(-1);
	return 0;
}

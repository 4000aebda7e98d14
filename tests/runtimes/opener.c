/* SPDX-License-Identifier: MIT
 *
 * runtimes-opener HOW LIBRARY CODE_OBJECT KERNEL N: opens HIP as programs do that do not link it,
 * and launches the kernel N times. HOW is local or deepbind (flags of dlopen beside RTLD_NOW |
 * RTLD_LOCAL), global, or namespace (dlmopen). Prints how many were launched.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *hip;

static void *find(const char *name)
{
	void *function = dlsym(hip, name);

	if (!function) {
		fprintf(stderr, "opener: %s\n", dlerror());
		exit(1);
	}
	return function;
}

static void check(int result, const char *what)
{
	if (!result)
		return;
	fprintf(stderr, "opener: %s returns %d\n", what, result);
	exit(1);
}

int main(int argc, char **argv)
{
	int (*hip_malloc)(void **, size_t), (*load)(void **, const char *), (*synchronize)(void);
	int (*get)(void **, void *, const char *);
	int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
		void *, void **, void **);
	void *module, *function, *memory, *arguments[] = {&memory};
	int n;

	if (argc != 6)
		return 2;
	n = atoi(argv[5]);
	if (!strcmp(argv[1], "namespace"))
		hip = dlmopen(LM_ID_NEWLM, argv[2], RTLD_NOW | RTLD_LOCAL);
	else if (!strcmp(argv[1], "deepbind"))
		hip = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
	else if (!strcmp(argv[1], "global"))
		hip = dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL);
	else
		hip = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
	if (!hip) {
		fprintf(stderr, "opener: %s\n", dlerror());
		return 1;
	}
	*(void **)&hip_malloc = find("hipMalloc");
	*(void **)&load = find("hipModuleLoad");
	*(void **)&get = find("hipModuleGetFunction");
	*(void **)&launch = find("hipModuleLaunchKernel");
	*(void **)&synchronize = find("hipDeviceSynchronize");
	check(hip_malloc(&memory, 4096), "hipMalloc");
	check(load(&module, argv[3]), "hipModuleLoad");
	check(get(&function, module, argv[4]), "hipModuleGetFunction");
	for (int i = 0; i < n; i++)
		check(launch(function, 1, 1, 1, 64, 1, 1, 0, NULL, arguments, NULL),
			"hipModuleLaunchKernel");
	check(synchronize(), "hipDeviceSynchronize");
	printf("launched %d\n", n);
	return 0;
}

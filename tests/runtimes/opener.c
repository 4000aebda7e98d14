/* SPDX-License-Identifier: MIT
 *
 * runtimes-opener HOW CODE_OBJECT KERNEL N LIBRARY...: opens each HIP as programs do that do not
 * link it, and launches the kernel N times by each of them. HOW is local or deepbind (flags of
 * dlopen beside RTLD_NOW | RTLD_LOCAL), global, or namespace (dlmopen). Prints how many were
 * launched.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/check.h"

#define LIBRARIES_MAX 2

struct hip {
	void *library, *function, *memory;
	int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
		void *, void **, void **);
	int (*synchronize)(void);
};

static void *find(const struct hip *hip, const char *name)
{
	void *function = dlsym(hip->library, name);

	if (!function) {
		fprintf(stderr, "opener: %s\n", dlerror());
		exit(1);
	}
	return function;
}

static void *open_as(const char *how, const char *name)
{
	if (!strcmp(how, "namespace"))
		return dlmopen(LM_ID_NEWLM, name, RTLD_NOW | RTLD_LOCAL);
	if (!strcmp(how, "deepbind"))
		return dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
	return dlopen(name, RTLD_NOW | (strcmp(how, "global") ? RTLD_LOCAL : RTLD_GLOBAL));
}

static void begin(struct hip *hip, const char *how, const char *name, char **argv)
{
	int (*hip_malloc)(void **, size_t), (*load)(void **, const char *);
	int (*get)(void **, void *, const char *);
	void *module;

	hip->library = open_as(how, name);
	if (!hip->library) {
		fprintf(stderr, "opener: %s\n", dlerror());
		exit(1);
	}
	*(void **)&hip_malloc = find(hip, "hipMalloc");
	*(void **)&load = find(hip, "hipModuleLoad");
	*(void **)&get = find(hip, "hipModuleGetFunction");
	*(void **)&hip->launch = find(hip, "hipModuleLaunchKernel");
	*(void **)&hip->synchronize = find(hip, "hipDeviceSynchronize");
	check(hip_malloc(&hip->memory, 4096), "hipMalloc");
	check(load(&module, argv[2]), "hipModuleLoad");
	check(get(&hip->function, module, argv[3]), "hipModuleGetFunction");
}

/* Not by `environ`: a program that names it has a copy, which libraries opened by DEEPBIND lack. */
static void clear(char **environment)
{
	char **to = environment;

	for (char **from = environment; *from; from++)
		if (strncmp(*from, "RTL_", 4) != 0 && strncmp(*from, "HSA_TOOLS_", 10) != 0)
			*to++ = *from;
	*to = NULL;
}

int main(int argc, char **argv, char **environment)
{
	struct hip hips[LIBRARIES_MAX];
	int n, count = argc - 5;

	if (count < 1 || count > LIBRARIES_MAX)
		return 2;
	n = atoi(argv[4]);
	if (!strcmp(argv[1], "cleared"))
		clear(environment);
	for (int i = 0; i < count; i++)
		begin(hips + i, argv[1], argv[5 + i], argv);
	for (int i = 0; i < n * count; i++) {
		const struct hip *hip = hips + i % count;
		void *arguments[] = {(void *)&hip->memory};

		check(hip->launch(hip->function, 1, 1, 1, 64, 1, 1, 0, NULL, arguments, NULL),
			"hipModuleLaunchKernel");
	}
	for (int i = 0; i < count; i++)
		check(hips[i].synchronize(), "hipDeviceSynchronize");
	printf("launched %d\n", n * count);
	return 0;
}

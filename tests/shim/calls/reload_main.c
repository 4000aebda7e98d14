/* SPDX-License-Identifier: MIT
 *
 * reload-calls LIBRARY [global]: opens a library that is linked to RCCL, calls it, closes both, and
 * does it again when something else lies where RCCL was. global: for all, so that RTLD_NEXT finds
 * it. Compiled three times: the program, the library (RELOAD_USER), and what it is linked to
 * (RELOAD_RCCL).
 */
#include "shim/wrap/rccl.h"

#define EXPORT __attribute__((visibility("default")))

#if defined(RELOAD_RCCL)
EXPORT int ncclGetUniqueId(nccl_unique_id *id)
{
	id->internal[0] = 'r';
	return 0;
}
#elif defined(RELOAD_USER)
int reload_use(nccl_unique_id *id);

EXPORT int reload_use(nccl_unique_id *id)
{
	return ncclGetUniqueId(id);
}
#else
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define BLOCK_BYTES 4096

static void *use(const char *path, int scope)
{
	void *library = dlopen(path, RTLD_NOW | scope);
	void *function = library ? dlsym(library, "reload_use") : NULL;
	int (*call)(nccl_unique_id *);
	nccl_unique_id id = {{0}};

	memcpy(&call, &function, sizeof(function));
	if (!call || call(&id) || id.internal[0] != 'r')
		return NULL;
	return library;
}

int main(int argc, char **argv)
{
	int scope = argc > 2 ? RTLD_GLOBAL : RTLD_LOCAL;
	void *library = argc > 1 ? use(argv[1], scope) : NULL;
	void *rccl = dlopen("librccl-reload.so", RTLD_NOW | RTLD_NOLOAD);
	void *function = rccl ? dlsym(rccl, "ncclGetUniqueId") : NULL;
	Dl_info info;

	if (!library || !function || !dladdr(function, &info))
		return 1;
	dlclose(rccl);
	dlclose(library);
	(void)mmap(info.dli_fbase, BLOCK_BYTES, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (!use(argv[1], scope))
		return 1;
	puts("twice");
	return 0;
}
#endif

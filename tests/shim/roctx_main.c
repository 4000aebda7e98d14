/* SPDX-License-Identifier: MIT
 *
 * A program that is linked to roctx, or (shim-roctx-late LIBRARY [again]) loads a library that is.
 * With the shim preloaded the real library still gets every call, and its results come back;
 * without, this is what it is compared with. again: loads it for all, closes it, and does it once
 * more when something else lies where roctx was.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#ifdef ROCTX_LATE
#define BLOCK_BYTES 4096

static void *load_and_use(const char *path, int scope)
{
	void *library = dlopen(path, RTLD_NOW | scope);
	void *function = library ? dlsym(library, "roctx_use") : NULL;
	void (*roctx_use)(void);

	if (!function) {
		fprintf(stderr, "shim-roctx-late: %s\n", dlerror());
		return NULL;
	}
	memcpy(&roctx_use, &function, sizeof(function));
	roctx_use();
	return library;
}

/* False if it was never loaded. */
static int close_and_block(void *library)
{
	void *function = dlsym(library, "roctx_calls");
	Dl_info info;

	if (!function || !dladdr(function, &info))
		return 0;
	dlclose(library);
	(void)mmap(info.dli_fbase, BLOCK_BYTES, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	return 1;
}
#else
void roctx_use(void);
#endif

int main(int argc, char **argv)
{
#ifdef ROCTX_LATE
	int scope = argc > 2 ? RTLD_GLOBAL : RTLD_LOCAL;
	void *library = argc > 1 ? load_and_use(argv[1], scope) : NULL;

	if (!library)
		return 2;
	if (argc > 2 && (!close_and_block(library) || !load_and_use(argv[1], scope)))
		return 2;
#else
	(void)argc, (void)argv;
	roctx_use();
#endif
	return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * A program that is linked to roctx, or (shim-roctx-late LIBRARY) loads a library that is. With the
 * shim preloaded the real library still gets every call, and its results come back; without,
 * this is what it is compared with.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#ifndef ROCTX_LATE
void roctx_use(void);
#endif

int main(int argc, char **argv)
{
#ifdef ROCTX_LATE
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	void *function = library ? dlsym(library, "roctx_use") : NULL;
	void (*roctx_use)(void);

	if (!function) {
		fprintf(stderr, "shim-roctx-late: %s\n", dlerror());
		return 2;
	}
	memcpy(&roctx_use, &function, sizeof(function));
#else
	(void)argc, (void)argv;
#endif
	roctx_use();
	return 0;
}

// SPDX-License-Identifier: MIT
/* Stands for a runtime of a later release: it has names of functions that libdtif.so lacks. */
#include <dlfcn.h>
#include <stddef.h>

static const char *const wanted[] = {"hsaKmtOpenKFD", "hsaKmtOfALaterRelease",
	"hsaKmtOfOneLaterStill", "hsaKmtOfALaterRelease failed"};

__attribute__((visibility("default"))) void *start(void *(*create)(const char *));

/* The way of ROCr: it looks all of them up, and goes on. */
void *start(void *(*create)(const char *))
{
	void *instance;

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		(void)dlsym(RTLD_DEFAULT, wanted[i]);
	instance = create("HSA");
	/* Not a tail call: the function that is called looks at where it was called from. */
	__asm__ volatile("" ::: "memory");
	return instance;
}

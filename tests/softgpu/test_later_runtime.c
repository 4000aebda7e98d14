// SPDX-License-Identifier: MIT
/* Stands for a runtime of a later release: it contains names of functions that libdtif.so lacks. */
#include <dlfcn.h>
#include <stddef.h>

static const char *const wanted[] = {"hsaKmtOpenKFD", "hsaKmtOfALaterRelease",
	"hsaKmtOfOneLaterStill", "hsaKmtOfALaterRelease failed"};

__attribute__((visibility("default"))) void *start(void *(*create)(const char *));

/* Like ROCr, it looks all of them up and continues. */
void *start(void *(*create)(const char *))
{
	void *instance;

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		(void)dlsym(RTLD_DEFAULT, wanted[i]);
	instance = create("HSA");
	/* Prevents a tail call, because the called function reads its return address. */
	__asm__ volatile("" ::: "memory");
	return instance;
}

/* SPDX-License-Identifier: MIT */
/*
 * A machine that gives the shim's thread no processor, for tests: preloaded, it keeps that thread
 * where it gives itself its name, the first that it does, until the program waits for its device
 * (HIP) or is done with it (HSA). What was submitted before, the shim saw without its thread.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Processes, and not their children. */
static _Atomic pid_t fed, starved;

/* Says on stderr that there was something to end. */
static void feed(void)
{
	if (atomic_exchange(&fed, getpid()) != getpid() && atomic_load(&starved) == getpid())
		fputs("starved\n", stderr);
}

int pthread_setname_np(pthread_t thread, const char *name)
{
	int (*real)(pthread_t, const char *) =
		(int (*)(pthread_t, const char *))dlsym(RTLD_NEXT, "pthread_setname_np");

	for (; !strcmp(name, "rtl-shim") && atomic_load(&fed) != getpid();
		atomic_store(&starved, getpid()))
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	return real ? real(thread, name) : 0;
}

/* The functions at which it ends; hsa_status_t and hipError_t are both ints. */
#define FEEDING(function)                                                                          \
	int function(void);                                                                        \
	int function(void)                                                                         \
	{                                                                                          \
		int (*real)(void) = (int (*)(void))dlsym(RTLD_NEXT, #function);                    \
                                                                                                   \
		feed();                                                                            \
		return real ? real() : -1;                                                         \
	}
FEEDING(hsa_shut_down)
FEEDING(hipDeviceSynchronize)

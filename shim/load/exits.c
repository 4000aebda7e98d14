// SPDX-License-Identifier: MIT
/*
 * For LD_PRELOAD: the functions by which a program ends without atexit() handlers. Dispatches that
 * have ended on the GPUs without the program having asked are written to the recorder first,
 * without a lock or a wait; then the program ends as it would have. Any thread may call, also in a
 * signal handler or in a child of vfork().
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/base/glibc_compat.h"
#include "shim/load/waits.h"
#include "shim/wrap/real.h"

#define EXPORT __attribute__((visibility("default")))

typedef void exit_function(int status);
typedef void abort_function(void);

/*
 * The functions that the program would have called. Found before main(), because a signal handler
 * must not search.
 */
static struct {
	exit_function *exit_now, *exit_c, *exit_quickly;
	abort_function *abort;
} real;

static void find(const char *name, void *ret_function)
{
	void *found = real_next(name, NULL);

	memcpy(ret_function, &found, sizeof(found));
}

__attribute__((constructor)) static void find_all(void)
{
	find("_exit", &real.exit_now);
	find("_Exit", &real.exit_c);
	find("quick_exit", &real.exit_quickly);
	find("abort", &real.abort);
}

/* @function is NULL if the call comes before it was found. */
static _Noreturn void end_by(exit_function *function, int status)
{
	waits_record_ends();
	if (function)
		function(status);
	for (;;)
		(void)syscall(SYS_exit_group, status);
}

EXPORT _Noreturn void _exit(int status)
{
	end_by(real.exit_now, status);
}

EXPORT _Noreturn void _Exit(int status)
{
	end_by(real.exit_c, status);
}

EXPORT _Noreturn void quick_exit(int status)
{
	end_by(real.exit_quickly, status);
}

EXPORT _Noreturn void abort(void)
{
	waits_record_ends();
	if (real.abort)
		real.abort();
	(void)raise(SIGABRT);
	(void)signal(SIGABRT, SIG_DFL);
	(void)raise(SIGABRT);
	for (;;)
		(void)syscall(SYS_exit_group, 127);
}

// SPDX-License-Identifier: MIT
/*
 * For LD_PRELOAD: the ways in which a program ends itself without exit handlers. What has ended on
 * the GPUs and nobody has asked about is written into the recorder first, without a lock or a wait,
 * and then the program ends as it would have. Any thread, a signal handler's and vfork()'s child's
 * too.
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

typedef void with_status(int status);
typedef void without(void);

/* What the program would have called. Found before main(): a signal handler may not look for it. */
static struct {
	with_status *exit_now, *exit_c, *exit_quickly;
	without *abort;
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

/* @function NULL: so early that it was not found yet. */
static _Noreturn void end_by(with_status *function, int status)
{
	waits_look();
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
	waits_look();
	if (real.abort)
		real.abort();
	(void)raise(SIGABRT);
	(void)signal(SIGABRT, SIG_DFL);
	(void)raise(SIGABRT);
	for (;;)
		(void)syscall(SYS_exit_group, 127);
}

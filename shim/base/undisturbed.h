/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A piece of work that a thread of the program has to come out of: no signal handler jumps out of
 * it, no cancellation ends it. Two system calls: not for the ordinary way of a dispatch.
 */
#include <pthread.h>
#include <signal.h>

#include "shim/base/glibc_compat.h"

struct undisturbed {
	sigset_t mask;
	int cancel;
};

static inline void undisturbed_begin(struct undisturbed *ret)
{
	sigset_t all;

	sigfillset(&all);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ret->cancel);
	pthread_sigmask(SIG_SETMASK, &all, &ret->mask);
}

static inline void undisturbed_end(const struct undisturbed *undisturbed)
{
	pthread_sigmask(SIG_SETMASK, &undisturbed->mask, NULL);
	pthread_setcancelstate(undisturbed->cancel, NULL);
}

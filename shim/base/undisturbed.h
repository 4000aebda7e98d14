/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Brackets work that a thread of the program must complete: no signal handler can jump out of it,
 * and no cancellation can end it. Costs two system calls, so it is not for the common path of a
 * dispatch.
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

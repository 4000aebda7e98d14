/* SPDX-License-Identifier: MIT */
#include "shim/base/wakeup.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>

_Atomic uint32_t doze_word;
static _Atomic uint32_t doze_wakers;
static void (*_Atomic doze_waker)(void);

/*
 * write() is a cancellation point: if the calling thread were cancelled in wake(), doze_wakers
 * would stay raised. So cancellation is disabled.
 */
static void wake_up(bool is_for_any_wait)
{
	int saved = errno, state;
	void (*wake)(void);

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	/* Before doze_waker is read; doze_is_waking() depends on that. */
	atomic_fetch_add(&doze_wakers, 1);
	wake = atomic_load(&doze_waker);
	if (wake && (atomic_exchange(&doze_word, 0) || is_for_any_wait))
		wake();
	atomic_fetch_sub(&doze_wakers, 1);
	pthread_setcancelstate(state, NULL);
	errno = saved;
}

void doze_wake(void)
{
	wake_up(false);
}

void doze_rouse(void)
{
	wake_up(true);
}

bool doze_is_waking(void)
{
	return atomic_load(&doze_wakers) != 0;
}

void doze_open(void (*wake)(void))
{
	atomic_store(&doze_waker, wake);
}

void doze_close(void)
{
	doze_end();
	atomic_store(&doze_waker, NULL);
}

void doze_begin(void)
{
	atomic_store(&doze_word, 1);
}

void doze_end(void)
{
	atomic_store(&doze_word, 0);
}

bool doze_is_on(void)
{
	return atomic_load_explicit(&doze_word, memory_order_relaxed);
}

void doze_forget(void)
{
	doze_close();
	atomic_store(&doze_wakers, 0);
}

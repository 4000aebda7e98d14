/* SPDX-License-Identifier: MIT */
#include "shim/doze.h"

#include <errno.h>
#include <stddef.h>

_Atomic uint32_t doze_word;
static void (*_Atomic doze_waker)(void);

void doze_wake(void)
{
	int saved = errno;
	void (*wake)(void) = atomic_load_explicit(&doze_waker, memory_order_relaxed);

	if (wake && atomic_exchange(&doze_word, 0))
		wake();
	errno = saved;
}

void doze_begin(void (*wake)(void))
{
	atomic_store_explicit(&doze_waker, wake, memory_order_relaxed);
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

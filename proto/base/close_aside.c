// SPDX-License-Identifier: MIT
#include "proto/base/close_aside.h"

#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

/* It calls close(), and the kernel has a stack of its own for that. */
#define STACK_BYTES (64u << 10)

static void *do_close(void *fd)
{
	close((int)(intptr_t)fd);
	return NULL;
}

void close_aside(int fd)
{
	pthread_attr_t attr;
	pthread_t thread;
	int r = pthread_attr_init(&attr);

	if (r == 0) {
		(void)pthread_attr_setstacksize(&attr, STACK_BYTES);
		(void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		r = pthread_create(&thread, &attr, do_close, (void *)(intptr_t)fd);
		(void)pthread_attr_destroy(&attr);
	}
	if (r)
		close(fd);
}

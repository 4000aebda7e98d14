// SPDX-License-Identifier: MIT
/* Preloaded: the profiler gets no thread, as where a user has as many as he may (ulimit -u). */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

__attribute__((visibility("default"))) int pthread_create(
	pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
	void *symbol = dlsym(RTLD_NEXT, "pthread_create");
	create *next;
	Dl_info info;

	memcpy(&next, &symbol, sizeof(next));
	if (dladdr(__builtin_return_address(0), &info) && strstr(info.dli_fname, "librtl-shim"))
		return EAGAIN;
	return next(thread, attributes, start, argument);
}

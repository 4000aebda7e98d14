/* SPDX-License-Identifier: MIT */
#include "tests/vfs/fault_malloc.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static sqlite3_mem_methods real;
static atomic_ullong at, more, allocated;
static atomic_bool is_everywhere;

/* Asked for tens of thousands of times a second: the kernel is asked once a thread. */
static bool is_first_thread(void)
{
	static _Thread_local enum { UNKNOWN, FIRST, OTHER } which;

	if (which == UNKNOWN)
		which = syscall(SYS_gettid) == getpid() ? FIRST : OTHER;
	return which == FIRST;
}

static bool fails(void)
{
	uint64_t n, first = at;

	if (!is_everywhere && is_first_thread())
		return false;
	n = atomic_fetch_add(&allocated, 1) + 1;
	if (!first || n < first || n >= first + more)
		return false;
	errno = ENOMEM;
	return true;
}

/* ---- SQLite --------------------------------------------------------------------------------- */

static void *sqlite_malloc(int bytes)
{
	return fails() ? NULL : real.xMalloc(bytes);
}

static void *sqlite_realloc(void *old, int bytes)
{
	return fails() ? NULL : real.xRealloc(old, bytes);
}

/* ---- ours: ld --wrap ------------------------------------------------------------------------ */

#define WRAPPED(type, name, parameters, arguments)                                                 \
	type __real_##name parameters;                                                             \
	type __wrap_##name parameters;                                                             \
	type __wrap_##name parameters                                                              \
	{                                                                                          \
		return fails() ? NULL : __real_##name arguments;                                   \
	}

WRAPPED(void *, malloc, (size_t bytes), (bytes))
WRAPPED(void *, calloc, (size_t n, size_t bytes), (n, bytes))
WRAPPED(void *, realloc, (void *old, size_t bytes), (old, bytes))
WRAPPED(void *, reallocarray, (void *old, size_t n, size_t bytes), (old, n, bytes))
WRAPPED(char *, strdup, (const char *text), (text))

int __real_vasprintf(char **ret, const char *format, va_list args);
int __wrap_vasprintf(char **ret, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));
int __wrap_vasprintf(char **ret, const char *format, va_list args)
{
	return fails() ? -1 : __real_vasprintf(ret, format, args);
}

int __wrap_asprintf(char **ret, const char *format, ...) __attribute__((format(printf, 2, 3)));
int __wrap_asprintf(char **ret, const char *format, ...)
{
	va_list args;
	int n;

	if (fails())
		return -1;
	va_start(args, format);
	n = __real_vasprintf(ret, format, args);
	va_end(args);
	return n;
}

void *fault_malloc_malloc(size_t bytes)
{
	return __wrap_malloc(bytes);
}

void *fault_malloc_realloc(void *old, size_t bytes)
{
	return __wrap_realloc(old, bytes);
}

void fault_malloc_everywhere(void)
{
	is_everywhere = true;
}

void fault_malloc_install(void)
{
	sqlite3_mem_methods ours;

	if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real) != SQLITE_OK)
		abort();
	ours = real;
	ours.xMalloc = sqlite_malloc;
	ours.xRealloc = sqlite_realloc;
	if (sqlite3_config(SQLITE_CONFIG_MALLOC, &ours) != SQLITE_OK)
		abort();
}

void fault_malloc_set(uint64_t fail_at, uint64_t for_so_many)
{
	at = 0;
	allocated = 0;
	more = for_so_many;
	at = fail_at;
}

uint64_t fault_malloc_count(void)
{
	return allocated;
}

/* SPDX-License-Identifier: MIT */
#include "tests/reliability/vfs/fault_malloc.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <inttypes.h>
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
static atomic_bool is_everywhere, is_traced;

/* Asked for tens of thousands of times a second: the kernel is asked once a thread. */
static bool is_first_thread(void)
{
	static _Thread_local enum { UNKNOWN, FIRST, OTHER } which;

	if (which == UNKNOWN)
		which = syscall(SYS_gettid) == getpid() ? FIRST : OTHER;
	return which == FIRST;
}

/* ---- sites: the chains of callers down to the allocation ------------------------------------ */

#define SITES (1u << 14)
#define CALLERS_MAX 64

static struct site {
	atomic_ullong id, count;
} sites[SITES];
static atomic_ullong wanted_site, wanted_count;
static atomic_bool is_by_site;

/* The id must not depend on where libraries are loaded, so that the next run finds the same
 * site. */
static uint64_t site_here(void)
{
	void *callers[CALLERS_MAX];
	uint64_t id = 0xcbf29ce484222325;

	for (int i = 0, n = backtrace(callers, CALLERS_MAX); i < n; i++) {
		struct dl_find_object object;
		uintptr_t at_ = (uintptr_t)callers[i];

		if (_dl_find_object(callers[i], &object) == 0)
			at_ -= (uintptr_t)object.dlfo_map_start;
		id = (id ^ at_) * 0x100000001b3;
	}
	return id ? id : 1;
}

/* How often that site has asked, with this time. */
static uint64_t site_count(uint64_t id)
{
	for (uint32_t i = 0; i < SITES; i++) {
		struct site *site = &sites[(id + i) % SITES];
		unsigned long long none = 0;

		if (atomic_compare_exchange_strong(&site->id, &none, id) || none == id)
			return atomic_fetch_add(&site->count, 1) + 1;
	}
	abort(); /* the table is to be made larger */
}

/* For addr2line. */
static void trace(void)
{
	void *callers[CALLERS_MAX];

	backtrace_symbols_fd(callers, backtrace(callers, CALLERS_MAX), STDERR_FILENO);
}

static bool fails(void)
{
	uint64_t n, first;

	if (!is_everywhere && is_first_thread())
		return false;
	n = atomic_fetch_add(&allocated, 1) + 1;
	if (is_by_site) {
		uint64_t site = site_here();

		if (site_count(site) == wanted_count && site == wanted_site)
			at = n;
	}
	first = at;
	if (!first || n < first || n >= first + more)
		return false;
	if (is_traced)
		trace();
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

void fault_malloc_set_site(uint64_t site, uint64_t fail_at, uint64_t for_so_many)
{
	void *caller;

	(void)backtrace(&caller, 1); /* loads what it needs: that allocates */
	fault_malloc_set(0, for_so_many);
	wanted_site = site;
	wanted_count = fail_at;
	is_by_site = true;
	is_traced = getenv("RTL_MALLOC_TRACE");
}

uint64_t fault_malloc_count(void)
{
	return allocated;
}

void fault_malloc_tell_sites(FILE *file)
{
	for (uint32_t i = 0; i < SITES; i++)
		if (sites[i].id)
			fprintf(file, "%" PRIu64 " %" PRIu64 "\n", (uint64_t)sites[i].id,
				(uint64_t)sites[i].count);
}

bool fault_malloc_has_failed(void)
{
	return at && allocated >= at;
}

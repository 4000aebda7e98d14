/* SPDX-License-Identifier: MIT */
#include "shim/wrap/roctx_real.h"
#include "shim/base/glibc_compat.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "shim/base/wait.h"
#include "shim/wrap/real.h"

/* Searched in this order if a program has both. */
static const char *const libraries[] = {"/libroctx64", "/librocprofiler-sdk-roctx"};

/*
 * Threads whose first calls come at the same time each search by themselves: they must not wait for
 * each other, and a push that is not passed on would make a later pop fail.
 */
#define FINDERS_MAX 64u

static const struct roctx_real nothing;
static struct roctx_real finder[FINDERS_MAX];
static _Atomic uint32_t finders;
static const struct roctx_real *_Atomic found; /* one of `finder`; NULL if not found yet */
static _Atomic uint64_t calls;
static _Atomic bool has_looked;	    /* a search has completed without success */
static _Atomic uint64_t loads_then; /* loads_count() before that search */

struct search {
	const char *library;
	char path[4096];
};

static int match_library(struct dl_phdr_info *info, size_t bytes, void *data)
{
	struct search *search = data;

	(void)bytes;
	if (!info->dlpi_name || !strstr(info->dlpi_name, search->library))
		return 0;
	return snprintf(search->path, sizeof(search->path), "%s", info->dlpi_name) <
	       (int)sizeof(search->path);
}

/*
 * Keeps the library of what was found with RTLD_NEXT, since we hold its address. Our handle keeps
 * the others.
 */
static void *function_find(real_dlsym_fn find, void *library, const char *name)
{
	void *function = find(library, name);

	if (function && library == RTLD_NEXT)
		real_keep(function);
	return function;
}

/*
 * The library behind us in the global scope, else one that is loaded anywhere: what Python loads,
 * such as torch, is only in its own scope, and its calls still go through us.
 */
static void *library_find(real_dlsym_fn find)
{
	if (find(RTLD_NEXT, "roctxMarkA"))
		return RTLD_NEXT;
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		struct search search = {.library = libraries[i]};
		void *handle = NULL;

		if (dl_iterate_phdr(match_library, &search) > 0)
			handle = dlopen(search.path, RTLD_LAZY | RTLD_NOLOAD);
		/* The handle stays open, because we hold addresses of the library. */
		if (handle)
			return handle;
	}
	return NULL;
}

static int loads_read(struct dl_phdr_info *info, size_t bytes, void *data)
{
	(void)bytes;
	*(uint64_t *)data = info->dlpi_adds;
	return 1;
}

/* Number of objects that the loader has ever loaded. */
static uint64_t loads_count(void)
{
	uint64_t loads = 0;

	(void)dl_iterate_phdr(loads_read, &loads);
	return loads;
}

static bool has_failed_already(uint64_t loads)
{
	return atomic_load_explicit(&has_looked, memory_order_acquire) &&
	       atomic_load_explicit(&loads_then, memory_order_relaxed) == loads;
}

static void library_take(void)
{
	/* Not the dlsym of librtl-calls.so, which would call us. */
	real_dlsym_fn find = real_dlsym();
	uint64_t loads = loads_count();
	const struct roctx_real *none = NULL;
	struct roctx_real *real;
	unsigned checks = 0;
	void *library, *function;
	uint32_t mine;

	/*
	 * A failed search allocates memory for dlerror()'s text. So it is not repeated for the same
	 * answer, or in a signal handler it could wait for the malloc() that it has interrupted.
	 */
	if (has_failed_already(loads))
		return;
	library = find ? library_find(find) : NULL;
	if (!library) {
		atomic_store_explicit(&loads_then, loads, memory_order_relaxed);
		atomic_store_explicit(&has_looked, true, memory_order_release);
		return;
	}
	mine = atomic_fetch_add_explicit(&finders, 1, memory_order_relaxed);
	if (mine >= FINDERS_MAX) {
		/* All of them have found it, or are about to. */
		while (!atomic_load_explicit(&found, memory_order_acquire))
			wait_between_checks(&checks);
		return;
	}
	real = &finder[mine];
#define FIND(name)                                                                                 \
	function = function_find(find, library, #name);                                            \
	memcpy(&real->name, &function, sizeof(function));
	ROCTX_CHAINED(FIND)
#undef FIND
	atomic_compare_exchange_strong(&found, &none, real);
}

const struct roctx_real *roctx_real(void)
{
	const struct roctx_real *now = atomic_load_explicit(&found, memory_order_acquire);
	uint64_t call;

	if (now)
		return now;
	call = atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed) + 1;
	if (call & (call - 1) && atomic_load_explicit(&has_looked, memory_order_acquire))
		return &nothing;
	library_take();
	now = atomic_load_explicit(&found, memory_order_acquire);
	return now ? now : &nothing;
}

bool roctx_real_has(unsigned member, const void *function)
{
	const struct roctx_real *real = atomic_load_explicit(&found, memory_order_acquire);
	const void *ours;

	if (!real)
		library_take();
	real = atomic_load_explicit(&found, memory_order_acquire);
	if (!real)
		return false;
	memcpy(&ours, (const char *)real + member * sizeof(ours), sizeof(ours));
	return ours == function;
}

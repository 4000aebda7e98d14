/* SPDX-License-Identifier: MIT */
#include "shim/roctx_real.h"
#include "shim/glibc_compat.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* In this order, when a program has both. */
static const char *const libraries[] = {"/libroctx64", "/librocprofiler-sdk-roctx"};

static const struct roctx_real nothing;
static struct roctx_real real;		       /* before `found` points to it: the finder's */
static const struct roctx_real *_Atomic found; /* NULL: not found yet */
static atomic_flag is_finding = ATOMIC_FLAG_INIT;
static _Atomic uint64_t calls;

struct search {
	const char *library;
	char path[4096];
};

static int look_at(struct dl_phdr_info *info, size_t bytes, void *data)
{
	struct search *search = data;

	(void)bytes;
	if (!info->dlpi_name || !strstr(info->dlpi_name, search->library))
		return 0;
	return snprintf(search->path, sizeof(search->path), "%s", info->dlpi_name) <
	       (int)sizeof(search->path);
}

/*
 * A library behind us in the global scope, else one that is loaded at all: what Python loads,
 * torch for one, is in nobody's scope but its own, and is called through us all the same.
 */
static void *library_find(void)
{
	if (dlsym(RTLD_NEXT, "roctxMarkA"))
		return RTLD_NEXT;
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		struct search search = {.library = libraries[i]};
		void *handle = NULL;

		if (dl_iterate_phdr(look_at, &search) > 0)
			handle = dlopen(search.path, RTLD_LAZY | RTLD_NOLOAD);
		/* Kept open: we hold its addresses. */
		if (handle)
			return handle;
	}
	return NULL;
}

static void real_find(void)
{
	void *library = library_find();
	void *function;

	if (!library)
		return;
#define FIND(name)                                                                                 \
	function = dlsym(library, #name);                                                          \
	memcpy(&real.name, &function, sizeof(function));
	ROCTX_CHAINED(FIND)
#undef FIND
	atomic_store_explicit(&found, &real, memory_order_release);
}

const struct roctx_real *roctx_real(void)
{
	const struct roctx_real *now = atomic_load_explicit(&found, memory_order_acquire);
	uint64_t call;

	if (now)
		return now;
	call = atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed) + 1;
	/* Somebody else looks for it: this call goes without, as those before it did. */
	if (call & (call - 1) || atomic_flag_test_and_set(&is_finding))
		return &nothing;
	if (!atomic_load(&found))
		real_find();
	atomic_flag_clear(&is_finding);
	now = atomic_load_explicit(&found, memory_order_acquire);
	return now ? now : &nothing;
}

/* SPDX-License-Identifier: MIT */
#include "shim/wrap/real.h"
#include "shim/base/glibc_compat.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Libraries with a common prefix: RCCL and its plugins (librccl-net.so, librccl-tuner.so). */
#define NAMESAKES_MAX 16u

struct search {
	const char *library;
	unsigned skip, seen; /* number of matching libraries to skip, and number seen */
	char path[PATH_MAX];
};

real_dlsym_fn real_dlsym(void)
{
	static void *_Atomic cache;
	void *found = atomic_load_explicit(&cache, memory_order_acquire);
	real_dlsym_fn function;

	if (!found) {
		/* Its symbol version on x86-64 since the first glibc. */
		found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
		atomic_store_explicit(&cache, found, memory_order_release);
	}
	memcpy(&function, &found, sizeof(function));
	return function;
}

static bool is_ours(const void *address)
{
	Dl_info here, there;

	return dladdr((const void *)real_find, &here) && dladdr(address, &there) &&
	       here.dli_fbase == there.dli_fbase;
}

void real_keep(const void *function)
{
	Dl_info info;

	/*
	 * The program itself has no handle of that name; the error must not show up in the
	 * program's dlerror().
	 */
	if (!dladdr(function, &info) || !info.dli_fname ||
		!dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD))
		(void)dlerror();
}

/* The return address does not matter, because @handle is never RTLD_NEXT. */
static void *find_in(const char *path, const char *name)
{
	real_dlsym_fn find = real_dlsym();
	void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	void *found;

	if (!handle)
		return NULL;
	found = find(handle, name);
	if (found && is_ours(found))
		found = NULL;
	if (found)
		real_keep(found);
	dlclose(handle);
	return found;
}

static int note_library(struct dl_phdr_info *info, size_t bytes, void *data)
{
	struct search *search = data;
	const char *name = strrchr(info->dlpi_name, '/');

	(void)bytes;
	name = name ? name + 1 : info->dlpi_name;
	if (strncmp(name, search->library, strlen(search->library)))
		return 0;
	if (strlen(info->dlpi_name) >= sizeof(search->path))
		return 0;
	if (search->seen++ < search->skip)
		return 0;
	strcpy(search->path, info->dlpi_name);
	return 1;
}

void *real_next(const char *name, const void *caller)
{
	real_dlsym_fn find = real_dlsym();
	void *found = find ? find(RTLD_NEXT, name) : NULL;
	Dl_info info;

	if (!found && find && caller && dladdr(caller, &info) && info.dli_fname)
		found = find_in(info.dli_fname, name);
	return found;
}

void *real_find(const char *name, const char *library, const void *caller)
{
	void *found = real_next(name, caller);

	/*
	 * A library in the global scope may have been opened with RTLD_GLOBAL, and may be closed
	 * again.
	 */
	if (found)
		real_keep(found);
	for (unsigned i = 0; !found && real_dlsym() && i < NAMESAKES_MAX; i++) {
		struct search search = {.library = library, .skip = i};

		if (!dl_iterate_phdr(note_library, &search))
			break;
		found = find_in(search.path, name);
	}
	return found;
}

bool real_adopt(void *_Atomic *cache, void *function)
{
	void *none = NULL;

	if (!atomic_compare_exchange_strong(cache, &none, function))
		return none == function;
	real_keep(function);
	return true;
}

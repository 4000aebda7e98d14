/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The real function behind one that we export for LD_PRELOAD. Any thread, at the first call of a
 * function; takes the loader's locks as every dlsym does.
 */
#include <stdbool.h>

/*
 * What the program would have called without us: the next definition in the global scope; else
 * the one among the dependencies of the library that @caller lies in, since Python opens its
 * extension modules privately; else the one in a loaded library whose file name begins with
 * @library ("librccl": librccl.so.1, librccl.so, librccl-1a2b3c4d.so.1) and which has the function.
 * NULL: there is none. Its library stays loaded.
 */
void *real_find(const char *name, const char *library, const void *caller);

/*
 * The first two of these alone: what is in the program's reach without us, where it asks by name.
 * @caller NULL: it asked in the global scope only.
 */
void *real_next(const char *name, const void *caller);

/* For who found @function by itself: true when @cache, empty until then, has it now; its library
 * stays loaded. False: another copy of the library is behind ours already. */
bool real_adopt(void *_Atomic *cache, void *function);

/* For who keeps the address of a function: its library stays loaded when the program closes it. */
void real_keep(const void *function);

/* dlsym itself, whoever else defines it. NULL: not on this libc. */
typedef void *(*real_dlsym_fn)(void *handle, const char *name);
real_dlsym_fn real_dlsym(void);

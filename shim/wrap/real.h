/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Finds the real function behind one that we export for LD_PRELOAD. Any thread, at the first call
 * of a function; takes the loader's locks like every dlsym().
 */
#include <stdbool.h>

/*
 * What the program would have called without us: the next definition in the global scope; else the
 * one among the dependencies of the library that contains @caller, since Python opens its extension
 * modules privately; else the one in a loaded library whose file name begins with @library
 * ("librccl": librccl.so.1, librccl.so, librccl-1a2b3c4d.so.1) and which has the function. NULL if
 * there is none. Its library stays loaded.
 */
void *real_find(const char *name, const char *library, const void *caller);

/*
 * Only the first two of these: what the program would find by name without us. @caller is NULL if
 * it has asked in the global scope only.
 */
void *real_next(const char *name, const void *caller);

/*
 * For a caller that has found @function itself: stores it in @cache if that is empty, and keeps its
 * library loaded. Returns false if @cache already has the function of another copy of the library.
 */
bool real_adopt(void *_Atomic *cache, void *function);

/*
 * For a caller that keeps the address of a function: keeps its library loaded even if the program
 * closes it.
 */
void real_keep(const void *function);

/* libc's dlsym(), whichever other library defines it. NULL if this libc has none. */
typedef void *(*real_dlsym_fn)(void *handle, const char *name);
real_dlsym_fn real_dlsym(void);

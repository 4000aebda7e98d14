/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Wrappers of one library's functions, for look-ups by name at run time (lookup.c): those of HIP
 * are in librtl-calls.so, those of RCCL and roctx in the shim. Any thread.
 */
#include <stdbool.h>

struct wrapped {
	/* Whether @name is wrapped; @ret is its index. */
	bool (*has)(const char *name, unsigned *ret);
	bool (*is_wrapper)(unsigned symbol, const void *function);
	/*
	 * What a look-up that finds our wrapper would find without us (real_next()). NULL if it may
	 * find ours.
	 */
	void *(*next)(const char *name, const void *caller);
	/*
	 * A look-up of @symbol's name has found @function. Returns our wrapper of it, or @function
	 * itself if our wrapper wraps another one.
	 */
	void *(*wrap)(unsigned symbol, void *function);
};

/* The wrappers of the shim; NULL past the last. */
const struct wrapped *rtl_wrapped(unsigned index);

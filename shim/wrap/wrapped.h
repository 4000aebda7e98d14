/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Wrappers of one library's functions by name, for who looks them up at run time (lookup.c): HIP's
 * are librtl-calls.so's own, RCCL's and roctx's are the shim's. Any thread.
 */
#include <stdbool.h>

struct wrapped {
	/* Whether @name is wrapped; @ret: as what. */
	bool (*has)(const char *name, unsigned *ret);
	bool (*is_wrapper)(unsigned symbol, const void *function);
	/* What is there without us (real_next()), for who finds ours. NULL: ours may be found. */
	void *(*next)(const char *name, const void *caller);
	/* @function was found under the name of @symbol: our wrapper of it, or itself if ours
	 * wraps another. */
	void *(*wrap)(unsigned symbol, void *function);
};

/* The shim's. NULL beyond the last. */
const struct wrapped *rtl_wrapped(unsigned index);

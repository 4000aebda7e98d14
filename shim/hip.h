/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The wrappers of HIP's functions by name, for those who look them up at run time. Any thread.
 */
#include <stdbool.h>

/* Mode hip; constant once main() runs. */
bool hip_is_on(void);

/* Whether @name is wrapped; @ret: as what. */
bool hip_has(const char *name, unsigned *ret);

bool hip_is_wrapper(unsigned symbol, const void *function);

/* @function was found under the name of @symbol: our wrapper of it, or itself if ours wraps
 * another. */
void *hip_wrap(unsigned symbol, void *function);

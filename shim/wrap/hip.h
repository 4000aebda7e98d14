/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The wrappers of HIP's functions by name, for those who look them up at run time. Any thread.
 */
#include <stdbool.h>

#include "shim/wrap/wrapped.h"

/* Modes hip and full, which records calls about graphs alone; constant once main() runs. */
bool hip_is_on(void);

extern const struct wrapped hip_wrapped;

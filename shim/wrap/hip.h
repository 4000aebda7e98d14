/* SPDX-License-Identifier: MIT */
#pragma once
/* The wrappers of HIP's functions, for look-ups by name at run time. Any thread. */
#include <stdbool.h>

#include "shim/wrap/wrapped.h"

/* Modes hip and full; full records only calls about graphs. Constant once main() runs. */
bool hip_is_on(void);

extern const struct wrapped hip_wrapped;

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Finds out whether the program's calls of roctx, RCCL and HIP reach our wrappers, and counts a
 * loss if they do not: if the shim was loaded by HSA_TOOLS_LIB alone because a script has set its
 * own LD_PRELOAD, if another library with these names precedes ours, or if the program contains the
 * functions. Called on application threads, never on the shim thread: the loader's lock may be held
 * by a thread that waits for that one.
 */
#include <stdbool.h>

/*
 * Called in OnLoad, before the first check. @is_asked_for: rtl has put us into LD_PRELOAD, so a
 * look-up of roctx or RCCL by name should find our wrappers whether or not those libraries are
 * loaded.
 */
void unwrapped_begin(bool is_asked_for);

/* May be called again later, since libraries are loaded and closed. */
void unwrapped_check(void);

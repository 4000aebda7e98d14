/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Whether the program reaches our wrappers of roctx, RCCL and HIP at all, counted as a loss where
 * it does not: the shim came by HSA_TOOLS_LIB alone since a script has set an LD_PRELOAD of its
 * own, another library of these names stands before ours, or the program contains them. The
 * application's threads, never the shim's own: the loader's lock may be held by a thread that waits
 * for that one.
 */
#include <stdbool.h>

/* In OnLoad, before the first look. @is_asked_for: rtl put us into LD_PRELOAD, so that a program
 * that looks for roctx or RCCL by name was to find them, whether or not a library of theirs is
 * there. */
void unwrapped_begin(bool is_asked_for);

/* Also later: libraries come and go. */
void unwrapped_look(void);

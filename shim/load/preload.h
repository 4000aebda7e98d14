/* SPDX-License-Identifier: MIT */
#pragma once
/* What preload.c does when the shim is in LD_PRELOAD. */
#include <stdbool.h>

/* Whether LD_PRELOAD named us when the program started. Any thread. */
bool preload_was_asked_for(void);

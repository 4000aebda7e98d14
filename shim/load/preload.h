/* SPDX-License-Identifier: MIT */
#pragma once
/* What LD_PRELOAD alone does. preload.c. */
#include <stdbool.h>

/* Whether LD_PRELOAD named us when the program began. Any thread. */
bool preload_was_asked_for(void);

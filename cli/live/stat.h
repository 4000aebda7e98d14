/* SPDX-License-Identifier: MIT */
#pragma once
/* The options of rtl stat, which are the keys of its section in rtl.conf. */
#include <stdbool.h>

/* As opts_check_settings(). */
bool stat_check_settings(void);

/* SPDX-License-Identifier: MIT */
#pragma once
/* The options of rtl stat, which are the keys of its section in rtl.conf. */
#include <argp.h>

extern const struct argp stat_argp;

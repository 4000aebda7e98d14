/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * --quota-* and --keep-*: what the tenants of the service may store, and how long that is kept. A
 * collector that is not the service limits nothing unless it is told to. Loop thread, before the
 * loop.
 */
#include <argp.h>
#include <stdbool.h>

#include "collectord/store/store.h"

/* A child of the collector's; its input is a struct quota_limits of LIMIT_UNSET. */
extern const struct argp limit_options;

#define LIMIT_UNSET UINT64_MAX
#define LIMIT_UNSET_ALL                                                                            \
	((struct quota_limits){LIMIT_UNSET, LIMIT_UNSET, LIMIT_UNSET, LIMIT_UNSET, LIMIT_UNSET,    \
		LIMIT_UNSET, LIMIT_UNSET, LIMIT_UNSET, LIMIT_UNSET})

/* What was not given is the default, @folder's file system considered. */
struct quota_limits limit_options_resolve(
	const struct quota_limits *given, bool is_service, const char *folder);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Options --quota-* and --keep-*: what the tenants of the service may store, and how long closed
 * sessions are kept. A collector that is not the service has no limits unless they are given. Loop
 * thread, before the loop.
 */
#include <argp.h>
#include <stdbool.h>

#include "collectord/store/store.h"

/*
 * A child parser of the collector's argp; its input is a struct quota_limits initialised with
 * LIMIT_UNSET.
 */
extern const struct argp limit_options;

/* For a parser of the collector: 0, or the result of configured_refuse(). */
error_t limit_options_number(struct argp_state *state, const char *option, const char *text,
	uint64_t max, uint64_t *ret);

#define LIMIT_UNSET UINT64_MAX
#define LIMIT_UNSET_ALL                                                                            \
	((struct quota_limits){                                                                    \
		.records_per_s = LIMIT_UNSET,                                                      \
		.bytes_per_s = LIMIT_UNSET,                                                        \
		.burst_s = LIMIT_UNSET,                                                            \
		.disk_bytes = LIMIT_UNSET,                                                         \
		.memory_bytes = LIMIT_UNSET,                                                       \
		.names_per_day = LIMIT_UNSET,                                                      \
		.keep_s = LIMIT_UNSET,                                                             \
		.keep_bytes = LIMIT_UNSET,                                                         \
		.keep_sessions = LIMIT_UNSET,                                                      \
	})

/*
 * Replaces each limit that was not given by its default, which may depend on the size of the file
 * system of @folder.
 */
struct quota_limits limit_options_resolve(
	const struct quota_limits *given, bool is_service, const char *folder);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What the shim would do with this runtime, for `rtl doctor`: under RTL_PROBE=FD, OnLoad writes
 * it there as lines "key value" and leaves the runtime as it is. Nothing is recorded.
 */
#include "shim/capture/front_end.h"
#include "shim/hsa/table.h"
#include "shim/load/runtime.h"

struct probe {
	const struct hsa_table *table;
	const struct front_ends *front_ends;
	const char *runtime; /* path */
	const char *build;
	char release[RUNTIME_RELEASE_BYTES];
};

/* The descriptor in RTL_PROBE, or -1. */
int probe_descriptor(const char *const *environment);

void probe_answer(int fd, const struct probe *probe);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * For `rtl doctor`: with RTL_PROBE=FD, OnLoad writes what the shim would do with this runtime to
 * that descriptor, as lines "key value", and leaves the runtime unchanged. Nothing is recorded.
 */
#include "shim/capture/front_ends/front_end.h"
#include "shim/hsa/table.h"
#include "shim/load/runtime.h"

struct probe {
	const struct hsa_table *table;
	const struct front_ends *front_ends;
	const char *runtime; /* its path */
	const char *build;
	char release[RUNTIME_RELEASE_BYTES];
};

/* The descriptor in RTL_PROBE, or -1. */
int probe_descriptor(const char *const *environment);

void probe_answer(int fd, const struct probe *probe);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The modes that a user can choose (--mode, RTL_MODE) and what each of them records, once for
 * shim and cli: code asks for a capability and never compares names. Pure; any thread.
 */
#include <stdint.h>

/* What a mode may do beyond a row for each dispatch. */
enum mode_capability {
	OWN_SIGNAL_TIMES =
		1u << 0,      /* times of dispatches that carry the application's own signal */
	COPY_TIMES = 1u << 1, /* GPU times of copies, which cost the device a little */
	HOST_CALLS = 1u << 2, /* HIP and RCCL calls on the host */
	GRAPH_CALLS =
		1u << 3, /* HIP's calls about graphs alone, where HOST_CALLS does not say all */
	SIGNAL_EDGES = 1u << 4, /* which packets, copies and threads wait for which signals */
};

struct mode {
	const char *name;
	uint32_t capabilities; /* enum mode_capability; MODE_OFF: nothing at all */
	const char *help;      /* for a list of modes, half a line */
};

#define MODE_OFF     UINT32_MAX
#define MODE_DEFAULT "standard"

/* Every mode, ended by a NULL name. */
extern const struct mode modes[];

/* Finds a mode by its name or alias ("default"); "" is the default. NULL: there is no such mode. */
const struct mode *mode_find(const char *name);

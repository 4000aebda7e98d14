/* SPDX-License-Identifier: MIT */
#include "proto/names/mode.h"

#include <stddef.h>
#include <string.h>

const struct mode modes[] = {
	{"lite", 0, "always-on: every dispatch is a row, signals of the program untimed"},
	{"standard", OWN_SIGNAL_TIMES, "every dispatch with its time (also: default)"},
	{"full", OWN_SIGNAL_TIMES | COPY_TIMES | GRAPH_CALLS,
		"standard, the GPU times of copies, and launches of graphs"},
	{"hip", OWN_SIGNAL_TIMES | HOST_CALLS | GRAPH_CALLS,
		"standard, and the HIP and RCCL calls of the host"},
	{"barriers", OWN_SIGNAL_TIMES | COPY_TIMES | SIGNAL_EDGES,
		"standard, the GPU times of copies, and what waits for what, for rtl whatif"},
	{"all", OWN_SIGNAL_TIMES | COPY_TIMES | HOST_CALLS | GRAPH_CALLS, "full and hip together"},
	{"off", MODE_OFF, "record nothing"},
	{NULL, 0, NULL},
};

const struct mode *mode_find(const char *name)
{
	if (!*name || !strcmp(name, "default"))
		name = MODE_DEFAULT;
	for (const struct mode *mode = modes; mode->name; mode++)
		if (!strcmp(mode->name, name))
			return mode;
	return NULL;
}

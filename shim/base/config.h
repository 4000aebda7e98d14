/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The RTL_* variables that the shim knows, read once in OnLoad. Constant afterwards; any
 * thread may read. Rank variables are rank.c's.
 */
#include <stdbool.h>
#include <stdint.h>

#include "proto/base/limits.h"
#include "proto/names/mode.h"

/* RTL_FRONT_END. */
enum front_end_wish {
	FRONT_END_AUTO,
	FRONT_END_SHADOW,
	FRONT_END_INTERCEPT, /* where it is known to be safe */
	FRONT_END_INTERCEPT_UNSAFE,
	FRONT_END_NONE,
};

struct config {
	char socket[LABEL_BYTES_MAX]; /* RTL_SOCKET; "": look at the usual places */
	const struct mode *mode;      /* RTL_MODE */
	enum front_end_wish front_end;
	bool keeps_rings;     /* RTL_RINGS=keep: rings stay where the program wants them */
	bool is_moved_by_hsa; /* RTL_RINGS_MOVED: rtl run has taken HSA_ALLOCATE_QUEUE_DEV_MEM away
			       */
	bool is_moved_by_clr; /* ... it has set DEBUG_CLR_AQL_DEV_QUEUE=0 */
	bool is_alone;	      /* RTL_THREAD=no */
	unsigned debug;	      /* RTL_DEBUG: 0 silent, 1 talks, 2 talks a lot */
	bool is_off;
	bool is_preload_asked_for;	     /* RTL_PRELOAD: rtl has put us into LD_PRELOAD */
	uint64_t exit_ns;		     /* RTL_EXIT_MS: how long OnUnload may take */
	char complaint[2 * LABEL_BYTES_MAX]; /* which value is bad, and what stands for it; "" */
};

struct config_variable {
	const char *name;
	const char *help;
};

/* For documentation and tests: every variable, ended by a NULL name. */
extern const struct config_variable config_variables[];

/* Once, before main(): config_read() falls back to this where the environment has no socket. */
void config_remember(const char *const *environment);

void config_read(const char *const *environment, struct config *ret);

/*
 * Whether the mode of this process has @capability, by the last config_read(); before OnLoad
 * nothing has. Any thread, also on the dispatch path.
 */
bool config_has(enum mode_capability capability);

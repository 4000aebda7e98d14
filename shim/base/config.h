/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The RTL_* variables that the shim knows, read once in OnLoad. They are constant afterwards, and
 * any thread may read them. The rank's variables are read by process_rank.h.
 */
#include <stdbool.h>
#include <stdint.h>

#include "proto/base/limits.h"
#include "proto/names/mode.h"

/* RTL_FRONT_END. */
enum front_end_wish {
	FRONT_END_AUTO,
	FRONT_END_SHADOW,
	FRONT_END_INTERCEPT, /* only with runtimes where it is known to be safe */
	FRONT_END_INTERCEPT_UNSAFE,
	FRONT_END_NONE,
};

struct config {
	char socket[LABEL_BYTES_MAX]; /* RTL_SOCKET; "" means the usual places */
	const struct mode *mode;      /* RTL_MODE */
	enum front_end_wish front_end;
	bool keeps_rings;     /* RTL_RINGS=keep: rings stay where the program puts them */
	bool is_moved_by_hsa; /* RTL_RINGS_MOVED: rtl run has unset HSA_ALLOCATE_QUEUE_DEV_MEM */
	bool is_moved_by_clr; /* RTL_RINGS_MOVED: rtl run has set DEBUG_CLR_AQL_DEV_QUEUE=0 */
	bool is_alone;	      /* RTL_THREAD=no: the shim starts no thread */
	unsigned debug;	      /* RTL_DEBUG: 0 nothing, 1 messages, 2 more messages */
	bool is_off;
	bool is_preload_asked_for; /* RTL_PRELOAD: rtl has put us into LD_PRELOAD */
	uint64_t exit_ns;	   /* RTL_EXIT_MS: how long OnUnload may take */
	/* Which value is bad and what is used instead; "" if all are good. */
	char complaint[2 * LABEL_BYTES_MAX];
};

struct config_variable {
	const char *name;
	const char *help;
};

/* Every variable, for documentation and tests; the last entry has a NULL name. */
extern const struct config_variable config_variables[];

/* Called once, before main(). config_read() uses this copy if the environment names no socket. */
void config_remember(const char *const *environment);

void config_read(const char *const *environment, struct config *ret);

/*
 * Whether the mode of this process has @capability, as of the last config_read(); before OnLoad it
 * has none. Any thread may call, on the dispatch path too.
 */
bool config_has(enum mode_capability capability);

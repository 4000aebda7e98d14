/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The environment of a recorded job, in one place for `rtl run` (which gives it to the command)
 * and `rtl env` (which prints it). What the user already has in a variable stays in it. Reads
 * the environment of rtl itself and changes nothing; one thread.
 */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/run/selection_options.h"
#include "cli/run/spawn.h"

#define JOBENV_SETTINGS_MAX (13u + CHOICE_COUNT)

struct jobenv_params {
	const char *socket;  /* absolute; NULL: RTL_SOCKET is left as it is */
	const char *job;     /* NULL: likewise for RTL_JOB_ID */
	const char *shim;    /* absolute; NULL: the job is not recorded, only softgpu counts */
	const char *softgpu; /* folder of the software GPU, NULL: the job's own GPU stack */
	const char *mode;    /* NULL: RTL_MODE as it is */
	const struct choices *choices; /* NULL: likewise */
};

struct jobenv_setting {
	const char *name;
	char *value; /* NULL: the variable is to be unset */
};

struct jobenv {
	struct jobenv_setting at[JOBENV_SETTINGS_MAX];
	size_t count;
	bool is_without_preload; /* jobenv_is_unpreloadable(): what is missing then is to be said */
};

/* A path that cannot be written in LD_PRELOAD, where nothing quotes; and what that costs. */
bool jobenv_is_unpreloadable(const char *path);
extern const char jobenv_without_preload[];

/*
 * librtl-calls.so, which lies beside @shim, where @mode (NULL: RTL_MODE) records calls of HIP, all or
 * those about graphs; "": it does not. 0; -errno: it is wanted, and not there as @ret.
 */
#define JOBENV_NO_CALLS                                                                            \
	"%s: %s; modes hip and full need it: install it beside librtl-shim.so, or choose another " \
	"mode"
int jobenv_find_calls(const char *shim, const char *mode, char ret[PATH_MAX]);

/* 0, -ENOMEM. */
int jobenv_init(struct jobenv *env, const struct jobenv_params *params);
void jobenv_done(struct jobenv *env);

/* Into the environment of the command, which has room for all of it. 0, -ENOMEM. */
int jobenv_put(const struct jobenv *env, struct spawn_env *into);

/* @text quoted for a POSIX shell, malloc'ed; NULL: no memory. */
char *jobenv_quote(const char *text);

/* @path as one name of HSA_TOOLS_LIB, malloc'ed; NULL: no memory. */
char *jobenv_quote_tool(const char *path);

/* Whether @entry is one of the names in @list, as ROCr splits HSA_TOOLS_LIB. */
bool jobenv_tools_list_has(const char *list, const char *entry);

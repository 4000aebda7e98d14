/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The environment of a recorded job, in one place for `rtl run` (which gives it to the command) and
 * `rtl env` (which prints it). Values that the user has set in these variables are kept. Reads the
 * environment of rtl itself and changes nothing; one thread.
 */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/run/job/selection_options.h"
#include "cli/run/job/spawn.h"

#define JOBENV_SETTINGS_MAX (13u + CHOICE_COUNT)

struct jobenv_params {
	const char *socket; /* absolute; NULL leaves RTL_SOCKET as it is */
	const char *job;    /* NULL leaves RTL_JOB_ID as it is */
	const char *shim; /* absolute; NULL if the job is not recorded: then only softgpu matters */
	const char *softgpu; /* folder of the software GPU; NULL for the job's own GPU stack */
	const char *mode;    /* NULL leaves RTL_MODE as it is */
	const struct choices *choices; /* NULL leaves the variables as they are */
};

struct jobenv_setting {
	const char *name;
	char *value; /* NULL if the variable is to be unset */
};

struct jobenv {
	struct jobenv_setting at[JOBENV_SETTINGS_MAX];
	size_t count;
	bool is_without_preload; /* jobenv_is_unpreloadable(): the caller reports what is missing */
};

/*
 * True for a path that cannot be written in LD_PRELOAD, which has no quotes; the text tells the
 * consequences.
 */
bool jobenv_is_unpreloadable(const char *path);
extern const char jobenv_without_preload[];

/*
 * Finds librtl-calls.so, which is beside @shim, if @mode (NULL: RTL_MODE) records calls of HIP, all
 * of them or those about graphs; otherwise @ret is "". Returns 0, or -errno if it is needed and
 * @ret does not exist.
 */
#define JOBENV_NO_CALLS                                                                            \
	"%s: %s; modes hip and full need it: install it beside librtl-shim.so, or choose another " \
	"mode"
int jobenv_find_calls(const char *shim, const char *mode, char ret[PATH_MAX]);

/* Returns 0 or -ENOMEM. */
int jobenv_init(struct jobenv *env, const struct jobenv_params *params);
void jobenv_done(struct jobenv *env);

/*
 * Puts the settings into the environment of the command, which has room for all of them. Returns 0
 * or -ENOMEM.
 */
int jobenv_put(const struct jobenv *env, struct spawn_env *into);

/* Returns @text quoted for a POSIX shell, allocated; NULL if memory is short. */
char *jobenv_quote(const char *text);

/* Returns @path as one name of HSA_TOOLS_LIB, allocated; NULL if memory is short. */
char *jobenv_quote_tool(const char *path);

/* True if @entry is one of the names in @list, split as ROCr splits HSA_TOOLS_LIB. */
bool jobenv_tools_list_has(const char *list, const char *entry);

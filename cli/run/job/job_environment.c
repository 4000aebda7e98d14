// SPDX-License-Identifier: MIT
#include "cli/run/job/job_environment.h"

#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/base/cleanup.h"
#include "proto/names/mode.h"
#include "proto/settings/environment.h"

#define CALLS_LIBRARY "librtl-calls.so"
#define SHIM_LIBRARY  "librtl-shim.so"

/*
 * Folder below that of the shim. glibc replaces $PLATFORM by "x86_64", "haswell" or "i686", so
 * programs of 32 bits find an empty library there. Other C libraries look for a folder with this
 * very name, find none, and continue.
 */
#define PRELOAD_FOLDER "/rtl/preload/$PLATFORM"
/* What is left after a shell has expanded it. */
#define PRELOAD_BARE   "/rtl/preload"

#define V1_TOOLS  "HSA_TOOLS_ROCPROFILER_V1_TOOLS"
#define HSA_RINGS "HSA_ALLOCATE_QUEUE_DEV_MEM"
#define CLR_RINGS "DEBUG_CLR_AQL_DEV_QUEUE"

/* Takes ownership of @value. */
static void put(struct jobenv *env, const char *name, char *value)
{
	env->at[env->count++] = (struct jobenv_setting){.name = name, .value = value};
}

static int put_copy(struct jobenv *env, const char *name, const char *value)
{
	char *copy = strdup(value);

	if (!copy)
		return -ENOMEM;
	put(env, name, copy);
	return 0;
}

static int put_joined(
	struct jobenv *env, const char *name, const char *first, char separator, const char *second)
{
	char *value;

	if (asprintf(&value, "%s%c%s", first, separator, second) < 0)
		return -ENOMEM;
	put(env, name, value);
	return 0;
}

/*
 * Reads one name of HSA_TOOLS_LIB into @name and returns the rest of the list, or NULL at the end.
 * Like ROCr: names are separated by spaces, double quotes group, and a backslash takes the next
 * byte literally.
 */
static const char *next_tool(const char *list, char *name)
{
	bool is_quoted = false;

	while (*list == ' ')
		list++;
	if (!*list)
		return NULL;
	for (; *list && (is_quoted || *list != ' '); list++) {
		if (*list == '"') {
			is_quoted = !is_quoted;
			continue;
		}
		if (*list == '\\' && list[1])
			list++;
		*name++ = *list;
	}
	*name = '\0';
	return list;
}

bool jobenv_tools_list_has(const char *list, const char *entry)
{
	CLEANUP(free_p) char *name = malloc(strlen(list) + 1);

	while (name && (list = next_tool(list, name)))
		if (!strcmp(name, entry))
			return true;
	return false;
}

/*
 * True for a shim of another installation (rtl env in the user's profile). Two shims in one process
 * take each other for a tool that is in their way, and the collector takes the second for the
 * successor of the first: nothing would be recorded.
 */
static bool is_foreign_copy(const char *name, const char *shim)
{
	const char *slash = strrchr(name, '/'), *own = strrchr(shim, '/');
	size_t folder = own ? (size_t)(own - shim) : 0, length = slash ? (size_t)(slash - name) : 0;

	if (strcmp(slash ? slash + 1 : name, SHIM_LIBRARY) != 0 &&
		strcmp(slash ? slash + 1 : name, CALLS_LIBRARY) != 0)
		return false;
	if (!slash || length < folder || memcmp(name, shim, folder) != 0)
		return true;
	return length != folder &&
	       (length != folder + strlen(PRELOAD_FOLDER) ||
		       memcmp(name + folder, PRELOAD_FOLDER, strlen(PRELOAD_FOLDER)) != 0);
}

/* Reads the first name of @list into @name and returns its end; NULL if there is none. */
typedef const char *next_name(const char *list, char *name);

/* Returns @list without copies of our library, newly allocated; NULL if memory is short. */
static char *drop_copies(const char *list, const char *shim, next_name *next)
{
	CLEANUP(free_p) char *kept = malloc(strlen(list) + 1);
	CLEANUP(free_p) char *name = malloc(strlen(list) + 1);
	const char *end;
	size_t used = 0;

	if (!kept || !name)
		return NULL;
	for (; (end = next(list, name)); list = end) {
		if (is_foreign_copy(name, shim))
			continue;
		/* The separator after a name that was dropped. */
		list += used ? 0 : strspn(list, " :");
		memcpy(kept + used, list, (size_t)(end - list));
		used += (size_t)(end - list);
	}
	kept[used] = '\0';
	return TAKE(kept);
}

char *jobenv_quote_tool(const char *path)
{
	char *quoted, *at;

	if (!strpbrk(path, " \"\\"))
		return strdup(path);
	quoted = malloc(2 * strlen(path) + 3);
	if (!quoted)
		return NULL;
	at = quoted;
	*at++ = '"';
	for (; *path; path++) {
		if (*path == '"' || *path == '\\')
			*at++ = '\\';
		*at++ = *path;
	}
	*at++ = '"';
	*at = '\0';
	return quoted;
}

static int put_tools(struct jobenv *env, const char *shim)
{
	const char *users = getenv("HSA_TOOLS_LIB");
	CLEANUP(free_p) char *tools = drop_copies(users ? users : "", shim, next_tool);
	CLEANUP(free_p) char *quoted = NULL;

	if (tools && jobenv_tools_list_has(tools, shim))
		return put_copy(env, "HSA_TOOLS_LIB", tools);
	quoted = jobenv_quote_tool(shim);
	if (!tools || !quoted)
		return -ENOMEM;
	if (!*tools)
		return put_copy(env, "HSA_TOOLS_LIB", quoted);
	return put_joined(env, "HSA_TOOLS_LIB", tools, ' ', quoted);
}

/*
 * Reads one name of LD_PRELOAD, like next_tool(): separated by spaces and colons, without quotes.
 */
static const char *next_preload(const char *list, char *name)
{
	size_t length;

	list += strspn(list, " :");
	length = strcspn(list, " :");
	if (!length)
		return NULL;
	memcpy(name, list, length);
	name[length] = '\0';
	return list + length;
}

static bool preload_has(const char *list, const char *path)
{
	size_t length = strlen(path);

	for (; list; list = strpbrk(list, " :")) {
		list += strspn(list, " :");
		if (!strncmp(list, path, length) && (!list[length] || strchr(" :", list[length])))
			return true;
	}
	return false;
}

#ifdef RTL_SANITIZE
/* The runtime of the sanitizer works only if it is the first library of the process. */
static int find_sanitizer(struct dl_phdr_info *info, size_t bytes, void *data)
{
	const char **path = data;

	(void)bytes;
	if (!strstr(info->dlpi_name, "/libasan.so") && !strstr(info->dlpi_name, "/libtsan.so"))
		return 0;
	*path = info->dlpi_name;
	return 1;
}

/*
 * The sanitizer is now in every program of the job, and shells and interpreters do not free their
 * memory at the end. Options that the user has set remain.
 */
static int put_asan(struct jobenv *env)
{
	static const char leaks[] = "detect_leaks=0";
	const char *options = getenv("ASAN_OPTIONS");

	if (options && strstr(options, "detect_leaks"))
		return 0;
	if (!options || !*options)
		return put_copy(env, "ASAN_OPTIONS", leaks);
	return put_joined(env, "ASAN_OPTIONS", options, ':', leaks);
}
#else
/*
 * For programs with a sanitizer the shim sets the options (shim/load/preload.c); others need none.
 */
static int put_asan(struct jobenv *env)
{
	(void)env;
	return 0;
}
#endif

int jobenv_find_calls(const char *shim, const char *mode_name, char ret[PATH_MAX])
{
	const char *name = mode_name ? mode_name : getenv("RTL_MODE");
	const struct mode *mode = mode_find(name ? name : "");
	const char *slash = strrchr(shim, '/');
	int n;

	*ret = '\0';
	if (!mode || mode->capabilities == MODE_OFF ||
		!(mode->capabilities & (HOST_CALLS | GRAPH_CALLS)))
		return 0;
	n = snprintf(
		ret, PATH_MAX, "%.*s" CALLS_LIBRARY, slash ? (int)(slash + 1 - shim) : 0, shim);
	if (n >= PATH_MAX)
		return -ENAMETOOLONG;
	return access(ret, R_OK) < 0 ? -errno : 0;
}

/*
 * Returns how LD_PRELOAD is to name @library, which is in the folder of the shim; or -ENAMETOOLONG.
 */
static int name_preload(const char *library, char ret[PATH_MAX])
{
	const char *slash = strrchr(library, '/');
	int folder = slash ? (int)(slash - library) : 0, n;

	n = snprintf(ret, PATH_MAX, "%.*s" PRELOAD_BARE "%s", folder, library, slash ? slash : "");
	if (n >= PATH_MAX)
		return -ENAMETOOLONG;
	/* A shim that was copied alone has no such folder. */
	if (!slash || access(ret, F_OK) < 0)
		n = snprintf(ret, PATH_MAX, "%s", library);
	else
		n = snprintf(ret, PATH_MAX, "%.*s" PRELOAD_FOLDER "%s", folder, library, slash);
	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/*
 * Puts @library in front of @list, which may be empty, unless it is in the list. Returns a new
 * string, or NULL.
 */
static char *prepend(const char *library, const char *list)
{
	char *joined;

	if (!*library || preload_has(*list ? list : NULL, library))
		return strdup(list);
	if (asprintf(&joined, "%s%s%s", library, *list ? ":" : "", list) < 0)
		return NULL;
	return joined;
}

const char jobenv_without_preload[] = "roctx ranges, RCCL's and HIP's calls are not recorded: the "
				      "shim's path has a space or a colon";

bool jobenv_is_unpreloadable(const char *path)
{
	return strpbrk(path, " :");
}

static int put_preload(struct jobenv *env, const struct jobenv_params *params)
{
	const char *users = getenv("LD_PRELOAD"), *sanitizer = NULL;
	CLEANUP(free_p) char *preload = drop_copies(users ? users : "", params->shim, next_preload);
	CLEANUP(free_p) char *with_shim = NULL, *with_calls = NULL, *whole = NULL;
	char shim[PATH_MAX], calls[PATH_MAX], calls_name[PATH_MAX] = "";
	int r = 0;

	if (jobenv_is_unpreloadable(params->shim)) {
		env->is_without_preload = true;
		return 0;
	}
	/* The loader would complain about a missing library in every program of the job. */
	if (jobenv_find_calls(params->shim, params->mode, calls) == 0 && *calls)
		r = name_preload(calls, calls_name);
	if (r == 0)
		r = name_preload(params->shim, shim);
	if (r < 0)
		return r;
#ifdef RTL_SANITIZE
	dl_iterate_phdr(find_sanitizer, &sanitizer);
#endif
	with_shim = preload ? prepend(shim, preload) : NULL;
	with_calls = with_shim ? prepend(calls_name, with_shim) : NULL;
	whole = with_calls ? prepend(sanitizer ? sanitizer : "", with_calls) : NULL;
	r = whole ? put_copy(env, "LD_PRELOAD", whole) : -ENOMEM;
	/*
	 * A script may set another LD_PRELOAD; the shim, loaded as a tool, then counts what it
	 * cannot see.
	 */
	return r < 0 ? r : put_copy(env, "RTL_PRELOAD", "1");
}

static int put_softgpu(struct jobenv *env, const char *folder)
{
	const char *path = getenv("LD_LIBRARY_PATH");
	size_t length = strlen(folder);

	/*
	 * An empty element would mean the current directory, so an empty path must not be in the
	 * list.
	 */
	if (!path || !*path)
		return put_copy(env, "LD_LIBRARY_PATH", folder);
	if (!strncmp(path, folder, length) && (!path[length] || path[length] == ':'))
		return put_copy(env, "LD_LIBRARY_PATH", path);
	return put_joined(env, "LD_LIBRARY_PATH", folder, ':', path);
}

static int put_choices(struct jobenv *env, const struct choices *choices)
{
	int r = 0;

	for (int i = 0; r == 0 && i < CHOICE_COUNT; i++)
		if (choices->text[i])
			r = put_copy(env, choice_options[i].variable, choices->text[i]);
	return r;
}

/* Compares as ROCr and CLR do; ROCr requires a 1. */
static bool is_set_to(const char *name, const char *value)
{
	const char *text = getenv(name);

	return text && !strcmp(text, value);
}

/*
 * Rings of queues in a GPU's memory cannot be followed, so they are placed in host memory, where
 * every earlier release had them, and a variable informs the shim. Rings that an rtl run around
 * this one has moved stay moved.
 */
static int put_rings(struct jobenv *env)
{
	const char *moved = getenv(VARIABLE_RINGS_MOVED);
	bool is_hsa = is_set_to(HSA_RINGS, "1"), is_clr = !is_set_to(CLR_RINGS, "0");
	int r;

	if (is_set_to("RTL_RINGS", VARIABLE_RINGS_KEEP))
		return 0;
	is_hsa |= moved && strstr(moved, VARIABLE_RINGS_MOVED_HSA);
	is_clr |= moved && strstr(moved, VARIABLE_RINGS_MOVED_CLR);
	r = put_copy(env, CLR_RINGS, "0");
	if (r == 0 && getenv(HSA_RINGS))
		put(env, HSA_RINGS, NULL);
	if (r == 0 && (is_hsa || is_clr))
		r = put_copy(env, VARIABLE_RINGS_MOVED,
			is_hsa && is_clr ? VARIABLE_RINGS_MOVED_HSA "," VARIABLE_RINGS_MOVED_CLR
			: is_hsa	 ? VARIABLE_RINGS_MOVED_HSA
					 : VARIABLE_RINGS_MOVED_CLR);
	return r;
}

static int put_recording(struct jobenv *env, const struct jobenv_params *params)
{
	const char *v1_tools = getenv(V1_TOOLS);
	int r = 0;

	if (params->socket)
		r = put_copy(env, "RTL_SOCKET", params->socket);
	if (r == 0 && params->job)
		r = put_copy(env, "RTL_JOB_ID", params->job);
	if (r == 0 && params->mode)
		r = put_copy(env, "RTL_MODE", params->mode);
	if (r == 0 && params->choices)
		r = put_choices(env, params->choices);
	if (r == 0)
		r = put_tools(env, params->shim);
	/*
	 * If a rocprofiler-sdk tool is loaded, ROCr ignores HSA_TOOLS_LIB unless this variable is
	 * set.
	 */
	if (r == 0)
		r = put_copy(env, V1_TOOLS, v1_tools && *v1_tools ? v1_tools : "1");
	if (r == 0)
		r = put_preload(env, params);
	if (r == 0)
		r = put_asan(env);
	if (r == 0)
		r = put_rings(env);
	return r;
}

int jobenv_init(struct jobenv *env, const struct jobenv_params *params)
{
	int r = 0;

	*env = (struct jobenv){0};
	if (params->shim)
		r = put_recording(env, params);
	if (r == 0 && params->softgpu)
		r = put_softgpu(env, params->softgpu);
	if (r < 0) {
		jobenv_done(env);
		return r;
	}
	/* It named the output of this rtl run; an rtl run in the job has its own. */
	if (getenv("RTL_OUTPUT"))
		put(env, "RTL_OUTPUT", NULL);
	return 0;
}

void jobenv_done(struct jobenv *env)
{
	for (size_t i = 0; i < env->count; i++)
		free(env->at[i].value);
	*env = (struct jobenv){0};
}

int jobenv_put(const struct jobenv *env, struct spawn_env *into)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < env->count; i++)
		r = spawn_env_put(into, env->at[i].name, env->at[i].value);
	return r;
}

static bool is_plain(const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_-./:,+@%";

	return *text && !text[strspn(text, plain)];
}

char *jobenv_quote(const char *text)
{
	char *quoted, *at;

	if (is_plain(text))
		return strdup(text);
	quoted = malloc(4 * strlen(text) + 3);
	if (!quoted)
		return NULL;
	at = quoted;
	*at++ = '\'';
	for (; *text; text++) {
		if (*text == '\'') {
			memcpy(at, "'\\''", 4);
			at += 4;
		} else {
			*at++ = *text;
		}
	}
	*at++ = '\'';
	*at = '\0';
	return quoted;
}

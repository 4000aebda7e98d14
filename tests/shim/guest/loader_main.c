/* SPDX-License-Identifier: MIT
 *
 * shim-guest-loader MODE PLUGIN [OTHER_PLUGIN | TLS_LIBRARY...]: a program that is not linked with
 * the runtime, but opens what is, privately, as Python does.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Too small for a recorder. */
#define FILE_BYTES_MAX (16u << 20)

typedef int (*work_fn)(int kernels);

struct plugin {
	void *handle;
	work_fn work;
};

static int dispatched;

static void require(bool ok, const char *what)
{
	const char *why = ok ? NULL : dlerror();

	if (ok)
		return;
	fprintf(stderr, "shim-guest-loader: %s: %s\n", what, why ? why : "?");
	exit(99);
}

static struct plugin plugin_take(void *handle, const char *path)
{
	struct plugin plugin = {.handle = handle};
	void *symbol;

	require(plugin.handle, path);
	symbol = dlsym(plugin.handle, "guest_work");
	require(symbol, path);
	memcpy(&plugin.work, &symbol, sizeof(symbol));
	plugin.work(0);
	return plugin;
}

static struct plugin plugin_open(const char *path)
{
	return plugin_take(dlopen(path, RTLD_NOW | RTLD_LOCAL), path);
}

/* Loads a plugin with its own runtime and libc. */
static struct plugin plugin_open_apart(const char *path)
{
	return plugin_take(dlmopen(LM_ID_NEWLM, path, RTLD_NOW | RTLD_LOCAL), path);
}

static void plugin_work(const struct plugin *plugin, int kernels)
{
	dispatched += plugin->work(kernels);
}

/* Starts the runtime, shuts it down and unloads it, repeatedly. */
static void again(char **paths)
{
	for (int i = 0; i < 5; i++) {
		struct plugin plugin = plugin_open(paths[0]);

		plugin_work(&plugin, 10);
		plugin.work(-1);
		require(!dlclose(plugin.handle), "dlclose");
	}
}

/* Two runtimes at a time; the first outlives the second and is used after it. */
static void two(char **paths)
{
	struct plugin first = plugin_open(paths[0]), second;

	plugin_work(&first, 10);
	second = plugin_open(paths[1]);
	require(first.work != second.work, "one plugin twice");
	(void)second.work(10);
	plugin_work(&first, 10);
	second.work(-1);
	plugin_work(&first, 10);
	first.work(-1);
}

/* One of the two runtimes is in its own namespace; both are used until the end. */
static void work_in_turns(const struct plugin *first, const struct plugin *second)
{
	plugin_work(first, 10);
	(void)second->work(10);
	plugin_work(first, 10);
	second->work(-1);
	plugin_work(first, 10);
	first->work(-1);
}

static void apart_second(char **paths)
{
	struct plugin first = plugin_open(paths[0]), second = plugin_open_apart(paths[0]);

	work_in_turns(&first, &second);
}

static void apart_first(char **paths)
{
	struct plugin first = plugin_open_apart(paths[0]), second = plugin_open(paths[0]);

	work_in_turns(&first, &second);
}

/* Starts the second runtime in a child, which has no room for a recorder and must end normally. */
static void forked(char **paths)
{
	const struct rlimit limit = {FILE_BYTES_MAX, FILE_BYTES_MAX};
	struct plugin first = plugin_open(paths[0]), second;
	int status = 0;
	pid_t pid;

	plugin_work(&first, 10);
	pid = fork();
	if (!pid) {
		signal(SIGXFSZ, SIG_IGN);
		require(!setrlimit(RLIMIT_FSIZE, &limit), "setrlimit");
		second = plugin_open(paths[1]);
		(void)second.work(10);
		second.work(-1);
		exit(0);
	}
	require(pid > 0 && waitpid(pid, &status, 0) == pid, "no child");
	printf("its child ends with %d\n", status);
	first.work(-1);
}

/* Loads libraries with static thread-local variables until there is no room for another one. */
static void tls(char **paths)
{
	char **library = paths + 1;

	while (*library && dlopen(*library, RTLD_NOW | RTLD_LOCAL))
		library++;
	require(*library, "there is room for all of them");
	printf("no room for static TLS\n");
	plugin_work(&(struct plugin){NULL, plugin_open(paths[0]).work}, 10);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(char **paths);
	} modes[] = {{"again", again}, {"two", two}, {"forked", forked}, {"tls", tls},
		{"apart_second", apart_second}, {"apart_first", apart_first}};

	for (size_t i = 0; argc > 2 && i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(argv[1], modes[i].name))
			continue;
		modes[i].run(argv + 2);
		printf("dispatched %d\n", dispatched);
		return 0;
	}
	fprintf(stderr, "usage: shim-guest-loader MODE PLUGIN...\n");
	return 2;
}

// SPDX-License-Identifier: MIT
#include "cli/report/open_page.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/memory.h"
#include "cli/base/message.h"
#include "proto/base/cleanup.h"

/* Its output is no data of ours: it goes where our messages go. Returns 0 or -errno. */
static int run(const char *program, const char *path)
{
	char *argv[] = {(char *)program, (char *)path, NULL};
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int status = 0;
	int r = posix_spawn_file_actions_init(&actions);

	if (r)
		return -r;
	r = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
	if (!r)
		r = posix_spawnp(&pid, program, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (r)
		return -r;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EIO;
}

/* The first of the programs in BROWSER; NULL: there is none, or it is more than a name. */
static char *name_browser(void)
{
	const char *browsers = getenv("BROWSER");
	size_t length = browsers ? strcspn(browsers, ":") : 0;

	if (!length || strcspn(browsers, " %\t") < length)
		return NULL;
	return xstrndup(browsers, length);
}

int open_page(const char *path)
{
	CLEANUP(free_p) char *browser = name_browser();
	/* A name that looks like an option is none. */
	CLEANUP(free_p) char *real = realpath(path, NULL);
	int r = real ? -ENOENT : -errno;

	if (real && browser)
		r = run(browser, real);
	if (real && r == -ENOENT)
		r = run("xdg-open", real);
	if (r == -ENOENT && real)
		say("--open: there is neither xdg-open nor what BROWSER names; open %s yourself",
			path);
	else if (r)
		say("--open: %s cannot be opened: %s", path,
			r == -EIO ? "the browser failed" : strerror(-r));
	return r;
}

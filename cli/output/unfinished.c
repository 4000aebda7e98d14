// SPDX-License-Identifier: MIT
#include "cli/output/unfinished.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/memory.h"
#include "proto/base/cleanup.h"

struct unfinished {
	struct unfinished *next;
	char path[];
};

static const int signals[] = {SIGHUP, SIGINT, SIGTERM};
#define SIGNALS (sizeof(signals) / sizeof(*signals))

/* The path added last comes first, so files come before their folder. The list is changed only
 * while the signals are blocked. */
static struct unfinished *first;

static void remove_all(void)
{
	for (const struct unfinished *at = first; at; at = at->next)
		if (unlink(at->path))
			(void)rmdir(at->path);
}

static void on_signal(int signal)
{
	remove_all();
	/* SA_RESETHAND has restored the default action, so this ends the program when the handler
	 * returns. */
	(void)raise(signal);
}

static void catch_signals(const sigset_t *set)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND}, old;

	action.sa_mask = *set;
	for (size_t i = 0; i < SIGNALS; i++)
		if (!sigaction(signals[i], NULL, &old) && old.sa_handler == SIG_DFL)
			(void)sigaction(signals[i], &action, NULL);
}

static void block(sigset_t *ret_old)
{
	static bool is_caught;
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < SIGNALS; i++)
		sigaddset(&set, signals[i]);
	sigprocmask(SIG_BLOCK, &set, ret_old);
	if (!is_caught) {
		catch_signals(&set);
		(void)atexit(remove_all); /* fails only if memory is short: a file then stays */
	}
	is_caught = true;
}

/* The signals are blocked. */
static void add(const char *path)
{
	size_t bytes = strlen(path) + 1;
	struct unfinished *added = xmalloc(sizeof(*added) + bytes);

	memcpy(added->path, path, bytes);
	added->next = first;
	first = added;
}

void unfinished_add(const char *path)
{
	sigset_t old;

	block(&old);
	add(path);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

int unfinished_make_file(char *pattern)
{
	sigset_t old;
	int fd;

	block(&old);
	fd = mkostemp(pattern, O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	else
		add(pattern);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return fd;
}

int unfinished_make_folder(char *pattern)
{
	sigset_t old;
	int r = 0;

	block(&old);
	if (mkdtemp(pattern))
		add(pattern);
	else
		r = -errno;
	sigprocmask(SIG_SETMASK, &old, NULL);
	return r;
}

void unfinished_add_database(const char *path)
{
	static const char *const ends[] = {"", "-wal", "-shm", "-journal"};

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		CLEANUP(free_p) char *beside = xasprintf("%s%s", path, ends[i]);

		unfinished_add(beside);
	}
}

void unfinished_end(const char *path)
{
	size_t length = strlen(path);
	sigset_t old;

	block(&old);
	for (struct unfinished **at = &first; *at;) {
		struct unfinished *ended = *at;

		if (strncmp(ended->path, path, length) != 0) {
			at = &ended->next;
			continue;
		}
		*at = ended->next;
		free(ended);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
}

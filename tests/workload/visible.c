// SPDX-License-Identifier: MIT
#include "tests/workload/visible.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/workload/talk.h"

static const char visible_env[] = "ROCR_VISIBLE_DEVICES";

/*
 * The count is asked of a child, because HSA does not survive the forks to come. It must not
 * look like a rank to a profiler, nor write over what a rank will write.
 */
static const char *const visible_not_for_child[] = {
	"LD_PRELOAD", "HSA_TOOLS_LIB", "SOFTGPU_TRUTH", NULL};

static void visible_exec_list(int out)
{
	static char name[] = "rtl-demo", list[] = "--list-gpus";
	char *argv[] = {name, list, NULL};

	for (int i = 0; visible_not_for_child[i]; i++)
		unsetenv(visible_not_for_child[i]);
	if (dup2(out, STDOUT_FILENO) >= 0)
		execv("/proc/self/exe", argv);
	_exit(127);
}

static int visible_count_lines(int fd)
{
	FILE *file = fdopen(fd, "r");
	char line[256];
	int count = 0;

	if (!file) {
		close(fd);
		return 0;
	}
	while (fgets(line, sizeof(line), file))
		count += !strncmp(line, "gpu=", 4);
	fclose(file);
	return count;
}

static int visible_ask_child(int *ret)
{
	int fds[2], status = 0, count;
	pid_t pid;

	if (pipe(fds))
		return -errno;
	pid = fork();
	if (pid < 0) {
		int r = -errno;

		close(fds[0]);
		close(fds[1]);
		return r;
	}
	if (pid == 0)
		visible_exec_list(fds[1]);
	close(fds[1]);
	count = visible_count_lines(fds[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	/* The child has said why. */
	if (!WIFEXITED(status) || WEXITSTATUS(status) || !count)
		return -ENODEV;
	*ret = count;
	return 0;
}

static int visible_count_items(const char *list)
{
	int count = 1;

	for (; *list; list++)
		count += *list == ',';
	return count;
}

int visible_open(const struct options *opt, struct visible *ret)
{
	const char *list = getenv(visible_env);
	struct visible visible = {0};
	int r = 0;

	if (list && *list) {
		visible.list = strdup(list);
		if (!visible.list)
			return -ENOMEM;
		visible.count = visible_count_items(list);
		if (opt->gpus && opt->gpus < visible.count)
			visible.count = opt->gpus;
	} else if (opt->gpus) {
		visible.count = opt->gpus;
	} else {
		r = visible_ask_child(&visible.count);
		if (r && r != -ENODEV)
			talk("counting GPUs: %s", strerror(-r));
	}
	if (!r)
		*ret = visible;
	return r;
}

int visible_set(const struct visible *visible, int turn)
{
	const char *item = visible->list;
	char value[64];

	turn %= visible->count;
	if (item) {
		for (int i = 0; i < turn; i++)
			item = strchr(item, ',') + 1;
		snprintf(value, sizeof(value), "%.*s", (int)strcspn(item, ","), item);
	} else {
		snprintf(value, sizeof(value), "%d", turn);
	}
	return setenv(visible_env, value, 1) ? -errno : 0;
}

void visible_close(struct visible *visible)
{
	free(visible->list);
	visible->list = NULL;
}

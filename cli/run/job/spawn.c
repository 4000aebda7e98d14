// SPDX-License-Identifier: MIT
#include "cli/run/job/spawn.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The child uses the same stack frame, so nothing else may be in this function. */
__attribute__((noinline)) pid_t spawn_begin(spawn_child *child, void *data)
{
	pid_t pid = vfork();

	if (pid != 0)
		return pid;
	child(data);
	_exit(127);
}

int spawn_env_init(struct spawn_env *env, size_t more)
{
	*env = (struct spawn_env){0};
	while (environ && environ[env->borrowed])
		env->borrowed++;
	env->room = env->borrowed + more;
	env->at = calloc(env->room + 1, sizeof(*env->at));
	if (!env->at)
		return -ENOMEM;
	for (; env->count < env->borrowed; env->count++)
		env->at[env->count] = environ[env->count];
	return 0;
}

void spawn_env_done(struct spawn_env *env)
{
	for (size_t i = env->borrowed; i < env->count; i++)
		free(env->at[i]);
	free(env->at);
	*env = (struct spawn_env){0};
}

static void take_out(struct spawn_env *env, size_t i)
{
	if (i < env->borrowed)
		env->borrowed--;
	else
		free(env->at[i]);
	/* Includes the NULL at the end. */
	memmove(env->at + i, env->at + i + 1, (env->count - i) * sizeof(*env->at));
	env->count--;
}

int spawn_env_put(struct spawn_env *env, const char *name, const char *value)
{
	size_t length = strlen(name);

	for (size_t i = env->count; i-- > 0;)
		if (!strncmp(env->at[i], name, length) && env->at[i][length] == '=')
			take_out(env, i);
	if (!value)
		return 0;
	if (env->count == env->room || asprintf(env->at + env->count, "%s=%s", name, value) < 0) {
		env->at[env->count] = NULL;
		return -ENOMEM;
	}
	env->count++;
	return 0;
}

char *spawn_env_last(const struct spawn_env *env)
{
	return strchr(env->at[env->count - 1], '=') + 1;
}

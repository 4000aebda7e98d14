/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Starts programs on our memory: a fork would copy its tables, and have each page that both write
 * to copied, which on a virtual machine is some milliseconds. So what the child needs is prepared
 * before, and all it does is calls to the kernel. Where it is a fork after all (valgrind, the
 * thread sanitizer) it works as well: the parent does not read what the child has written there.
 * One thread.
 */
#include <stddef.h>
#include <sys/types.h>

/* The child's part, which does not return and allocates nothing. What it writes to may be ours. */
typedef void spawn_child(void *data);

/* As fork() in the parent, when the child is another program or has ended. -1 with errno. */
pid_t spawn_begin(spawn_child *child, void *data);

/* The environment of a program: ours, and what is put into it. */
struct spawn_env {
	char **at;	 /* as execve() takes it */
	size_t count;	 /* without the NULL */
	size_t borrowed; /* the first of them are ours */
	size_t room;
};

/* Room for @more than we have. 0, -ENOMEM. Until spawn_env_done() our own does not change. */
int spawn_env_init(struct spawn_env *env, size_t more);
void spawn_env_done(struct spawn_env *env);

/* In place of what it has of that name, which @value is no part of; NULL: nothing. 0, -ENOMEM: also
 * beyond what there is room for. */
int spawn_env_put(struct spawn_env *env, const char *name, const char *value);
/* What spawn_env_put() put there last, to be overwritten in its length. */
char *spawn_env_last(const struct spawn_env *env);

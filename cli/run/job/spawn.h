/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Starts programs with vfork(). A fork would copy our page tables and then every page that either
 * process writes, which takes milliseconds on a virtual machine. Everything that the child needs is
 * prepared before, and the child only makes system calls. It also works where it is a fork after
 * all (valgrind, the thread sanitizer): the parent does not read what the child has written. One
 * thread.
 */
#include <stddef.h>
#include <sys/types.h>

/* The child's part, which does not return and allocates nothing. It may write to our memory. */
typedef void spawn_child(void *data);

/*
 * Returns like fork() in the parent, once the child is another program or has ended. -1 with errno.
 */
pid_t spawn_begin(spawn_child *child, void *data);

/* The environment of a program: ours, with changes. */
struct spawn_env {
	char **at;	 /* as execve() takes it */
	size_t count;	 /* does not count the NULL */
	size_t borrowed; /* the first entries belong to our own environment */
	size_t room;
};

/*
 * Makes room for @more entries than we have. Returns 0 or -ENOMEM. Our own environment must not
 * change before spawn_env_done().
 */
int spawn_env_init(struct spawn_env *env, size_t more);
void spawn_env_done(struct spawn_env *env);

/*
 * Replaces the variable @name, which is not part of @value; NULL removes it. Returns 0, or -ENOMEM,
 * also if there is no room left.
 */
int spawn_env_put(struct spawn_env *env, const char *name, const char *value);
/*
 * The string that spawn_env_put() stored last; a caller may overwrite it without changing its
 * length.
 */
char *spawn_env_last(const struct spawn_env *env);

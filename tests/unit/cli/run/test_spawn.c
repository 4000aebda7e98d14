// SPDX-License-Identifier: MIT
/* Programs that are started on our memory, and the environment they are given. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/run/job/spawn.h"
#include "tests/lib/test.h"

static int count(const struct spawn_env *env, const char *entry)
{
	int n = 0;

	for (size_t i = 0; i < env->count; i++)
		n += !strncmp(env->at[i], entry, strlen(entry));
	assert_null(env->at[env->count]);
	return n;
}

TEST_CASE(a_variable_that_is_set_is_in_the_environment_once)
{
	char first[] = "TWICE=1", second[] = "TWICE=2", other[] = "TWICES=3";
	char *ours[] = {first, other, second, NULL}, **kept = environ;
	struct spawn_env env;

	environ = ours;
	assert_int_equal(spawn_env_init(&env, 2), 0);
	assert_int_equal(count(&env, "TWICE"), 3);
	assert_int_equal(spawn_env_put(&env, "TWICE", "4"), 0);
	assert_int_equal(count(&env, "TWICE="), 1);
	assert_int_equal(count(&env, "TWICES=3"), 1);
	assert_string_equal(spawn_env_last(&env), "4");
	assert_int_equal(spawn_env_put(&env, "TWICE", "5"), 0);
	assert_int_equal(count(&env, "TWICE=5"), 1);
	assert_int_equal(spawn_env_put(&env, "TWICES", NULL), 0);
	assert_int_equal(env.count, 1);
	assert_int_equal(spawn_env_put(&env, "TWICE", NULL), 0);
	assert_int_equal(spawn_env_put(&env, "TWICE", NULL), 0);
	assert_int_equal(env.count, 0);
	spawn_env_done(&env);
	assert_string_equal(ours[0], "TWICE=1");
	assert_string_equal(ours[2], "TWICE=2");
	environ = kept;
}

TEST_CASE(variables_beyond_the_room_are_refused)
{
	struct spawn_env env;

	assert_int_equal(spawn_env_init(&env, 1), 0);
	assert_int_equal(spawn_env_put(&env, "SPAWN_TEST_A", "1"), 0);
	assert_int_equal(spawn_env_put(&env, "SPAWN_TEST_B", "2"), -ENOMEM);
	assert_int_equal(count(&env, "SPAWN_TEST_"), 1);
	spawn_env_done(&env);
}

struct start {
	const char *program;
	char **environment;
};

/* It changes of itself what a child of rtl run does. */
static void become(void *data)
{
	const struct start *start = data;
	char name[] = "sh", option[] = "-c", script[] = "exit $SPAWN_TEST";
	char *arguments[] = {name, option, script, NULL};
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGUSR1, SIG_IGN);
	(void)setrlimit(RLIMIT_NOFILE, &(struct rlimit){16, 16});
	close(0);
	if (chdir("/"))
		_exit(99);
	execve(start->program, arguments, start->environment);
	_exit(100 + errno);
}

static int status_of(const char *program)
{
	struct start start = {.program = program};
	struct spawn_env env;
	int status;
	pid_t pid;

	assert_int_equal(spawn_env_init(&env, 1), 0);
	assert_int_equal(spawn_env_put(&env, "SPAWN_TEST", "7"), 0);
	start.environment = env.at;
	pid = spawn_begin(become, &start);
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	spawn_env_done(&env);
	return WEXITSTATUS(status);
}

TEST_CASE(a_spawned_child_does_not_change_its_parent)
{
	char before[4096], after[4096];
	struct rlimit limit, limit_after;
	sigset_t mask, mask_after;
	struct sigaction action;

	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR2);
	assert_int_equal(sigprocmask(SIG_SETMASK, &mask, NULL), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_non_null(getcwd(before, sizeof(before)));
	assert_int_equal(status_of("/bin/sh"), 7);
	assert_null(getenv("SPAWN_TEST"));
	assert_int_equal(sigaction(SIGUSR1, NULL, &action), 0);
	assert_true(action.sa_handler == SIG_DFL);
	assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &mask_after), 0);
	assert_true(sigismember(&mask_after, SIGUSR2));
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit_after), 0);
	assert_int_equal(limit_after.rlim_cur, limit.rlim_cur);
	assert_true(fcntl(0, F_GETFD) >= 0);
	assert_non_null(getcwd(after, sizeof(after)));
	assert_string_equal(after, before);
}

TEST_CASE(a_command_that_is_no_program_has_its_error)
{
	assert_int_equal(status_of("/"), 100 + EACCES);
	assert_int_equal(status_of("/nowhere"), 100 + ENOENT);
}

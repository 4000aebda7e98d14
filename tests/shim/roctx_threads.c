/* SPDX-License-Identifier: MIT
 *
 * shim-roctx-threads: processes whose first roctx calls come from several threads at once. Each
 * call has to reach the real library: a range that was popped there and never pushed is not what
 * the program said.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES 100
#define THREADS	  8

int roctx_calls(void);
int roctxRangePushA(const char *message);
int roctxRangePop(void);

static pthread_barrier_t together;

static void *use(void *unused)
{
	pthread_barrier_wait(&together);
	if (roctxRangePushA("m") != 41 || roctxRangePop() != 42)
		_exit(1);
	return unused;
}

static int child(void)
{
	pthread_t thread[THREADS];

	pthread_barrier_init(&together, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, use, NULL))
			return 2;
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return roctx_calls() == 2 * THREADS ? 0 : 1;
}

int main(void)
{
	int good = 0;

	for (int i = 0; i < PROCESSES; i++) {
		pid_t pid = fork();
		int status;

		if (!pid)
			_exit(child());
		good += pid > 0 && waitpid(pid, &status, 0) == pid && !status;
	}
	printf("%d of %d\n", good, PROCESSES);
	return 0;
}

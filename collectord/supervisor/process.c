/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collectord/supervisor/internal.h"

/* Calls close_range(), which exists since Linux 5.9, else closes one by one. */
static void close_between(int first, int last)
{
#ifdef SYS_close_range
	if (first > last || !syscall(SYS_close_range, (unsigned)first, (unsigned)last, 0u))
		return;
#endif
	if (last == INT32_MAX)
		last = (int)sysconf(_SC_OPEN_MAX);
	for (int fd = first; fd <= last; fd++)
		(void)close(fd);
}

static int compare(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

void process_expose(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, "500", 3); /* on failure the kernel chooses by size alone */
	close(fd);
}

pid_t process_fork(int *keep, size_t n, bool is_disposable)
{
	pid_t parent = getpid();
	int from = STDERR_FILENO + 1;
	pid_t pid = fork();

	if (pid != 0)
		return pid < 0 ? -errno : pid;
	if (is_disposable) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(EXIT_FAILURE);
	}
	qsort(keep, n, sizeof(*keep), compare);
	for (size_t i = 0; i < n; i++) {
		close_between(from, keep[i] - 1);
		from = keep[i] + 1;
	}
	close_between(from, INT32_MAX);
	return 0;
}

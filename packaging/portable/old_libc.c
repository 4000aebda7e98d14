// SPDX-License-Identifier: MIT
/*
 * What glibc has from a later release on than the one that the tarball is linked against. Linked
 * into its programs alone.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

/* glibc 2.32. */
const char *sigabbrev_np(int number)
{
	static const char *const names[] = {
		[SIGHUP] = "HUP",
		[SIGINT] = "INT",
		[SIGQUIT] = "QUIT",
		[SIGILL] = "ILL",
		[SIGTRAP] = "TRAP",
		[SIGABRT] = "ABRT",
		[SIGBUS] = "BUS",
		[SIGFPE] = "FPE",
		[SIGKILL] = "KILL",
		[SIGUSR1] = "USR1",
		[SIGSEGV] = "SEGV",
		[SIGUSR2] = "USR2",
		[SIGPIPE] = "PIPE",
		[SIGALRM] = "ALRM",
		[SIGTERM] = "TERM",
		[SIGSTKFLT] = "STKFLT",
		[SIGCHLD] = "CHLD",
		[SIGCONT] = "CONT",
		[SIGSTOP] = "STOP",
		[SIGTSTP] = "TSTP",
		[SIGTTIN] = "TTIN",
		[SIGTTOU] = "TTOU",
		[SIGURG] = "URG",
		[SIGXCPU] = "XCPU",
		[SIGXFSZ] = "XFSZ",
		[SIGVTALRM] = "VTALRM",
		[SIGPROF] = "PROF",
		[SIGWINCH] = "WINCH",
		[SIGIO] = "POLL",
		[SIGPWR] = "PWR",
		[SIGSYS] = "SYS",
	};

	if (number < 1 || (size_t)number >= sizeof(names) / sizeof(*names))
		return NULL;
	return names[number];
}

/* glibc 2.34. */
int close_range(unsigned first, unsigned last, int flags)
{
	return (int)syscall(SYS_close_range, first, last, flags);
}

/* glibc 2.36; libevent's. The kernel gives as much, or is broken. */
void arc4random_buf(void *to, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t n = getrandom((char *)to + done, bytes - done, 0);

		if (n < 0 && errno != EINTR)
			abort();
		done += n > 0 ? (size_t)n : 0;
	}
}

uint32_t arc4random(void)
{
	uint32_t value;

	arc4random_buf(&value, sizeof(value));
	return value;
}

// SPDX-License-Identifier: MIT
#include "cli/run/job/signals.h"

#include <signal.h>
#include <stddef.h>


static const int enders[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

bool run_hold_is_end(int signal_number)
{
	for (size_t i = 0; i < sizeof(enders) / sizeof(enders[0]); i++)
		if (enders[i] == signal_number)
			return true;
	return false;
}

/*
 * Signals that we blocked ourselves, without those that were blocked when we started. One per
 * process.
 */
static sigset_t blocked_by_us;

static bool is_default(int signal_number)
{
	struct sigaction action;

	/* nohup and background shells make us ignore some signals. */
	return sigaction(signal_number, NULL, &action) == 0 && action.sa_handler == SIG_DFL;
}

void run_hold(void)
{
	sigset_t blocked;

	sigprocmask(SIG_BLOCK, NULL, &blocked);
	for (size_t i = 0; i < sizeof(enders) / sizeof(enders[0]); i++)
		if (is_default(enders[i]) && !sigismember(&blocked, enders[i]))
			sigaddset(&blocked_by_us, enders[i]);
	sigprocmask(SIG_BLOCK, &blocked_by_us, NULL);
}

int run_hold_pending(void)
{
	sigset_t pending;

	sigpending(&pending);
	for (size_t i = 0; i < sizeof(enders) / sizeof(enders[0]); i++)
		if (sigismember(&blocked_by_us, enders[i]) && sigismember(&pending, enders[i]))
			return enders[i];
	return 0;
}

void run_hold_release(void)
{
	sigprocmask(SIG_UNBLOCK, &blocked_by_us, NULL);
}

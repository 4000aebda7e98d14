/* SPDX-License-Identifier: MIT */
/* Killed on either side of a COMMIT and of an Ack, the collector stores each record once. */
#include "tests/unit/collectord/daemon.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DISPATCHES 10
/* A COMMIT each, after those of the opening, which are one to five. */
#define FRAMES	   12

/* Frame by frame, until the daemon dies of it. */
static void send_until_death(struct fake_shim *shim)
{
	for (unsigned i = 0; i < FRAMES; i++) {
		Rtl__Frame *frame = NULL;

		if (fake_shim_dispatch(shim, DISPATCHES, false) < 0 ||
			fake_receive(shim, FAKE_WAIT_MS, &frame) < 0)
			return;
	}
	fail_msg("the fault was never reached");
}

static void die_and_go_on(struct place *place, const char *fault)
{
	const char *arguments[] = {
		COLLECTORD_FAULTS, "--socket", place->socket, "--db-dir", place->store, NULL};
	struct fake_shim shim;
	struct daemon daemon;
	uint64_t sent;
	uint64_t hw;
	char path[256], of_group[64];

	/* The whole service: of a worker alone it would start another one, which died likewise. */
	snprintf(of_group, sizeof(of_group), "%s%s:group", fault, strchr(fault, ':') ? "" : ":1");
	setenv("RTL_FAULT", of_group, 1);
	daemon_start(&daemon, arguments, -1, (uid_t)-1);
	unsetenv("RTL_FAULT");
	daemon_wait_for_line(&daemon, place->socket);
	assert_int_equal(fake_shim_init(&shim, "job"), 0);
	daemon_welcome(&shim, place->socket);
	fake_shim_define(&shim);
	send_until_death(&shim);
	assert_int_equal(WTERMSIG(daemon_wait(&daemon)), SIGKILL);
	sent = shim.next - 1;
	daemon_start_in(&daemon, place);
	hw = daemon_welcome(&shim, place->socket);
	fake_shim_define(&shim);
	assert_int_equal(fake_shim_resend(&shim, hw), 0);
	if (hw < sent)
		daemon_expect_ack(&shim, sent);
	daemon_stop(&daemon);
	find_database(place, geteuid(), path);
	assert_number(path, "SELECT count(*) FROM rocpd_op", (int64_t)(sent * DISPATCHES));
	assert_number(path, "SELECT count(DISTINCT sequenceId) FROM rocpd_op",
		(int64_t)(sent * DISPATCHES));
	fake_shim_done(&shim);
}

PLACE_CASE(before_commit)
{
	die_and_go_on(place, "before_commit:8");
}

PLACE_CASE(after_commit)
{
	die_and_go_on(place, "after_commit:8");
}

PLACE_CASE(before_ack)
{
	die_and_go_on(place, "before_ack:3");
}

/* The Ack was written by then; the shim may have read it or not. */
PLACE_CASE(after_ack)
{
	die_and_go_on(place, "after_ack:3");
}

int main(void)
{
	(void)signal(SIGPIPE, SIG_IGN);
	return test_run(NULL, NULL);
}

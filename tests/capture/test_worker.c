/* SPDX-License-Identifier: MIT
 *
 * The shim's thread, with a socket that the test plays the collector on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "proto/clock.h"
#include "shim/events.h"
#include "shim/markers.h"
#include "shim/worker.h"
#include "tests/capture/synth.h"

#define WAIT_MS	    60000
/* Away for so long it pauses for 200 ms: what comes sooner is not the ordinary next try. */
#define AWAY_NS	    1000000000u
#define HOUR_NS	    3600000000000ll
#define DEADLINE_NS (WAIT_MS * 1000000ull)

struct fixture {
	char directory[64];
	char path[96];
	int listener;
	unsigned sockets; /* that are not the shim's */
	struct identity identity;
	struct rank_info rank;
	struct agents agents;
	struct clock_source clocks;
	struct strings strings;
	struct capture *capture;
};

/* In libc's place: BOOTTIME as the test wants it. */
static _Atomic int64_t boottime_offset_ns;

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *ret)
{
	int r = (int)syscall(SYS_clock_gettime, id, ret);

	if (id == CLOCK_BOOTTIME)
		ret->tv_sec += boottime_offset_ns / 1000000000;
	return r;
}

static int counters(uint32_t node, void *ret)
{
	uint64_t now_ns = clock_boottime_ns();
	const uint64_t answer[4] = {now_ns, now_ns, now_ns, 1000000000};

	(void)node;
	memcpy(ret, answer, sizeof(answer));
	return 0;
}

static uint32_t symbol_none(uint64_t kernel_object)
{
	(void)kernel_object;
	return 0;
}

static void listener_open(struct fixture *f)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	strcpy(f->directory, "/tmp/rtl-worker-XXXXXX");
	assert_non_null(mkdtemp(f->directory));
	snprintf(f->path, sizeof(f->path), "%s/s", f->directory);
	strcpy(address.sun_path, f->path);
	f->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(f->listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(f->listener, 8), 0);
}

static unsigned count_sockets(void)
{
	unsigned count = 0;
	struct stat st;

	for (int fd = 0; fd < 256; fd++)
		count += !fstat(fd, &st) && S_ISSOCK(st.st_mode);
	return count;
}

static int fixture_setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct recorder_identity identity = {.pid = getpid(), .start_time = 1};
	struct worker_setup setup;
	struct capture_hsa hsa;

	listener_open(f);
	f->sockets = count_sockets();
	assert_int_equal(identity_read(&f->identity), 0);
	f->agents = (struct agents){.count = 1, .gpu[0] = {.kfd_node = 1, .tick_hz = 1000000000}};
	f->clocks = (struct clock_source){.agents = &f->agents, .counters = counters, .kfd = -1};
	synth_hsa(&hsa);
	hsa.symbol_of = hsa.symbol_define = symbol_none;
	assert_int_equal(capture_create(&identity, &hsa, &f->capture), 0);
	strings_init(&f->strings, capture_recorder(f->capture));
	setup = (struct worker_setup){
		.capture = f->capture,
		.strings = &f->strings,
		.agents = &f->agents,
		.clocks = &f->clocks,
		.socket = f->path,
		.exit_ns = DEADLINE_NS,
		.hello = {.identity = &f->identity,
			.rank = &f->rank,
			.agents = &f->agents,
			.front_end = "shadow"},
	};
	assert_int_equal(worker_start(&setup), 0);
	*state = f;
	return 0;
}

static int fixture_teardown(void **state)
{
	struct fixture *f = *state;

	boottime_offset_ns = 0;
	capture_stop(f->capture);
	(void)events_stop(clock_monotonic_ns() + DEADLINE_NS);
	(void)worker_stop(true);
	worker_release();
	strings_done(&f->strings);
	capture_release_signals(f->capture);
	capture_free(f->capture);
	close(f->listener);
	unlink(f->path);
	rmdir(f->directory);
	free(f);
	return 0;
}

/* The next connection; -1: none within @ms. */
static int accept_next(const struct fixture *f, int ms)
{
	struct pollfd waiting = {.fd = f->listener, .events = POLLIN};

	return poll(&waiting, 1, ms) == 1 ? accept4(f->listener, NULL, NULL, SOCK_CLOEXEC) : -1;
}

/* Whatever comes, for long enough that the next try after it is a while off. */
static void hang_up_on_all(const struct fixture *f)
{
	uint64_t until_ns = clock_monotonic_ns() + AWAY_NS;
	bool is_last;

	do {
		int fd = accept_next(f, WAIT_MS);

		assert_true(fd >= 0);
		is_last = clock_monotonic_ns() > until_ns;
		close(fd);
	} while (!is_last);
}

/* Until the thread has noticed that nobody is there any more, too. */
static void hang_up(const struct fixture *f)
{
	struct pollfd waiting = {.fd = f->listener, .events = POLLIN};
	uint64_t deadline_ns = clock_monotonic_ns() + DEADLINE_NS;

	hang_up_on_all(f);
	while (count_sockets() > f->sockets && poll(&waiting, 1, 1) == 0)
		assert_true(clock_monotonic_ns() < deadline_ns);
}

static void check_hello(const struct fixture *f)
{
	char byte;
	int fd = accept_next(f, 0);

	assert_true(fd >= 0);
	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), 1);
	close(fd);
}

static void the_end_does_not_wait_for_the_next_try(void **state)
{
	struct fixture *f = *state;

	hang_up(f);
	capture_stop(f->capture);
	assert_true(events_stop(clock_monotonic_ns() + DEADLINE_NS));
	assert_true(worker_stop(true));
	check_hello(f);
}

/* Which is how most programs end: nobody shuts the runtime down. */
static void nor_does_exit(void **state)
{
	struct fixture *f = *state;

	hang_up(f);
	worker_settle();
	check_hello(f);
}

/* The thread finds it out when it is told to end, or has just done so. */
static void nor_does_exit_when_they_have_only_now_hung_up(void **state)
{
	struct fixture *f = *state;

	hang_up_on_all(f);
	worker_settle();
	check_hello(f);
}

static void exit_waits_for_nobody(void **state)
{
	struct fixture *f = *state;
	uint64_t start_ns;

	hang_up(f);
	unlink(f->path);
	start_ns = clock_monotonic_ns();
	worker_settle();
	/* It may take four fifths. */
	assert_true(clock_monotonic_ns() < start_ns + DEADLINE_NS / 2);
}

static void wait_for_frame(const struct fixture *f, uint64_t number)
{
	uint64_t deadline_ns = clock_monotonic_ns() + DEADLINE_NS;

	while (recorder_published(capture_recorder(f->capture)) < number) {
		assert_true(clock_monotonic_ns() < deadline_ns);
		poll(NULL, 0, 1);
	}
}

static void a_clock_that_goes_back_holds_nothing_up(void **state)
{
	struct fixture *f = *state;

	markers_mark("before");
	wait_for_frame(f, 1);
	boottime_offset_ns = -HOUR_NS;
	markers_mark("after");
	wait_for_frame(f, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_end_does_not_wait_for_the_next_try),
		TEST(nor_does_exit),
		TEST(nor_does_exit_when_they_have_only_now_hung_up),
		TEST(exit_waits_for_nobody),
		TEST(a_clock_that_goes_back_holds_nothing_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

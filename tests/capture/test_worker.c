/* SPDX-License-Identifier: MIT
 *
 * The shim's thread, with a socket that the test plays the collector on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "proto/clock.h"
#include "proto/msg.h"
#include "shim/doze.h"
#include "shim/events.h"
#include "shim/gate.h"
#include "shim/markers.h"
#include "shim/worker.h"
#include "tests/capture/synth.h"

#define WAIT_MS	    60000
/* Away for so long it pauses for 200 ms: what comes sooner is not the ordinary next try. */
#define AWAY_NS	    1000000000u
#define BRIEF_NS    500000000u
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
	struct synth_queue *queue; /* of those tests that have one */
	hsa_signal_t signal;
};

/* In libc's place: BOOTTIME as the test wants it, and a time at which every clock stands still. */
static _Atomic int64_t boottime_offset_ns;
static _Atomic uint64_t standing_ns;
/* The thread that ends the shim has looked at when it began to. */
static __thread bool is_ending;
static _Atomic bool has_begun;

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *ret)
{
	int r = (int)syscall(SYS_clock_gettime, id, ret);

	if (id == CLOCK_BOOTTIME)
		ret->tv_sec += boottime_offset_ns / 1000000000;
	if (standing_ns)
		*ret = (struct timespec){(time_t)(standing_ns / 1000000000),
			(long)(standing_ns % 1000000000)};
	if (is_ending && id == CLOCK_BOOTTIME)
		has_begun = true;
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

/* By name: TSan takes fstat() of what another thread just opens for a race with it. */
static unsigned count_sockets(void)
{
	char path[32], name[64];
	unsigned count = 0;

	for (int fd = 0; fd < 256; fd++) {
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, name, sizeof(name) - 1);
		name[n > 0 ? n : 0] = 0;
		count += !strncmp(name, "socket:", 7);
	}
	return count;
}

static int fixture_begin(void **state, uint64_t exit_ns)
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
		.exit_ns = exit_ns,
		.hello = {.identity = &f->identity,
			.rank = &f->rank,
			.agents = &f->agents,
			.front_end = "shadow"},
	};
	assert_int_equal(worker_start(&setup), 0);
	*state = f;
	return 0;
}

static int fixture_setup(void **state)
{
	return fixture_begin(state, DEADLINE_NS);
}

/* An end that gives up long before a doubt is over. */
static int fixture_setup_brief(void **state)
{
	return fixture_begin(state, BRIEF_NS);
}

static int fixture_teardown(void **state)
{
	struct fixture *f = *state;

	boottime_offset_ns = 0;
	standing_ns = 0;
	capture_stop(f->capture);
	(void)events_stop(clock_monotonic_ns() + DEADLINE_NS);
	(void)worker_stop(true);
	worker_release();
	strings_done(&f->strings);
	capture_release_signals(f->capture);
	capture_free(f->capture);
	if (f->queue) {
		synth_queue_free(f->queue);
		synth_signal_free(f->signal);
	}
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

/* ---- while nothing is recorded ---------------------------------------------------------------- */

static void send_frame(int fd, Rtl__Frame *frame)
{
	size_t bytes;
	uint8_t *packed = msg_pack_new(frame, &bytes);

	assert_non_null(packed);
	assert_int_equal(send(fd, packed, bytes, MSG_NOSIGNAL), bytes);
	free(packed);
}

static void send_welcome(int fd)
{
	Rtl__Welcome welcome = RTL__WELCOME__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;

	welcome.has_version = 1;
	welcome.version = PROTO_VERSION_MAX;
	frame.body_case = RTL__FRAME__BODY_WELCOME;
	frame.welcome = &welcome;
	send_frame(fd, &frame);
}

static void send_control(int fd, uint64_t seq, bool record)
{
	Rtl__Control control = RTL__CONTROL__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;

	control.has_seq = control.has_record = 1;
	control.seq = seq;
	control.record = record;
	frame.body_case = RTL__FRAME__BODY_CONTROL;
	frame.control = &control;
	send_frame(fd, &frame);
}

static void wait_for_doze(bool is_on)
{
	uint64_t deadline_ns = clock_monotonic_ns() + DEADLINE_NS;

	while (doze_is_on() != is_on) {
		assert_true(clock_monotonic_ns() < deadline_ns);
		poll(NULL, 0, 1);
	}
}

/* A collector that welcomes, and has the process wait; dozing, with a queue. */
static int begin_dormant(struct fixture *f)
{
	int fd = accept_next(f, WAIT_MS);

	assert_true(fd >= 0);
	send_welcome(fd);
	send_control(fd, 1, false);
	f->queue = synth_queue_new(64);
	f->signal = synth_signal_new(1);
	assert_int_equal(synth_adopt(f->capture, f->queue, 0), 0);
	wait_for_doze(true);
	return fd;
}

static void a_dormant_thread_dozes_through_dispatches(void **state)
{
	struct synth_packet packet = {.type = HSA_PACKET_TYPE_KERNEL_DISPATCH, .kernel_object = 1};
	struct fixture *f = *state;
	int fd = begin_dormant(f);

	for (int i = 0; i < 1000; i++) {
		synth_submit(f->capture, f->queue, &packet);
		while (synth_step(f->queue, SYNTH_DOORBELL))
			;
	}
	assert_true(doze_is_on());
	assert_int_equal(recorder_queue_value(&capture_recorder(f->capture)->queues[f->queue->block],
				 RTL_Q_skipped_filter),
		1000);
	close(fd);
}

/* Nobody rings for it again. */
static void an_early_doorbell_ends_a_doze(void **state)
{
	struct synth_packet packet = {.type = HSA_PACKET_TYPE_KERNEL_DISPATCH, .kernel_object = 1};
	uint64_t deadline_ns = clock_monotonic_ns() + DEADLINE_NS, index;
	struct fixture *f = *state;
	int fd = begin_dormant(f);

	index = synth_add_index(f->capture, f->queue, 1);
	errno = EDOM;
	synth_ring(f->capture, f->queue, index);
	assert_int_equal(errno, EDOM);
	assert_false(doze_is_on());
	synth_put(f->queue, index, &packet);
	while (synth_wdid(f->queue) != index + 1) {
		assert_true(clock_monotonic_ns() < deadline_ns);
		poll(NULL, 0, 1);
	}
	/* Nor does it come back to it while something is left behind. */
	index = synth_add_index(f->capture, f->queue, 1);
	synth_ring(f->capture, f->queue, index);
	boottime_offset_ns += 3 * (int64_t)DOZE_NS;
	markers_mark("it harvests");
	wait_for_frame(f, 1);
	assert_false(doze_is_on());
	synth_put(f->queue, index, &packet);
	synth_ring(f->capture, f->queue, index);
	wait_for_doze(true);
	close(fd);
}

static void a_range_ends_a_doze(void **state)
{
	struct fixture *f = *state;
	int fd = begin_dormant(f);

	markers_mark("something");
	assert_false(doze_is_on());
	wait_for_frame(f, 1);
	close(fd);
}

static void being_told_to_record_ends_a_doze(void **state)
{
	struct synth_packet packet = {.type = HSA_PACKET_TYPE_KERNEL_DISPATCH, .kernel_object = 1};
	struct fixture *f = *state;
	int fd = begin_dormant(f);

	send_control(fd, 2, true);
	wait_for_doze(false);
	synth_submit(f->capture, f->queue, &packet);
	while (synth_step(f->queue, SYNTH_DOORBELL))
		;
	wait_for_frame(f, 1);
	close(fd);
}

static unsigned count_eventfds(void)
{
	unsigned count = 0;
	struct stat st;

	for (int fd = 0; fd < 256; fd++)
		count += !fstat(fd, &st) && !(st.st_mode & S_IFMT);
	return count;
}

static void release_meanwhile(void)
{
	unsigned before = count_eventfds();

	assert_true(doze_is_waking());
	worker_release();
	assert_int_equal(count_eventfds(), before);
}

/* Whoever comes later wakes nobody, and who is about to finds what it writes to where it was. */
static void the_end_ends_a_doze(void **state)
{
	struct fixture *f = *state;
	int fd = begin_dormant(f);

	capture_stop(f->capture);
	assert_true(events_stop(clock_monotonic_ns() + DEADLINE_NS));
	assert_true(worker_stop(true));
	assert_false(doze_is_on());
	doze_begin(release_meanwhile);
	doze_alert();
	assert_false(doze_is_waking() || doze_is_on());
	close(fd);
}

/* A kernel that has ended, whose signal was armed again by something that nobody hooks. */
static void kernel_in_doubt(struct fixture *f)
{
	struct synth_packet packet = {.type = HSA_PACKET_TYPE_KERNEL_DISPATCH, .kernel_object = 1};

	f->queue = synth_queue_new(64);
	f->signal = synth_signal_new(1);
	packet.signal = f->signal.handle;
	assert_int_equal(synth_adopt(f->capture, f->queue, 0), 0);
	synth_submit(f->capture, f->queue, &packet);
	while (synth_step(f->queue, SYNTH_DOORBELL))
		;
	synth_signal_store(f->signal, 1);
	assert_int_equal(capture_pending(f->capture), 1);
}

/* To the last of the time that the end may take, and no further while anything is undecided. */
static void *clock_forward(void *data)
{
	struct fixture *f = data;

	while (!has_begun)
		sched_yield();
	standing_ns += BRIEF_NS / 5 * 4 - 1;
	for (int i = 0; i < WAIT_MS && capture_pending(f->capture); i++)
		poll(NULL, 0, 1);
	standing_ns += 1;
	return NULL;
}

static void check_that_it_is_decided(struct fixture *f, void (*end)(void))
{
	pthread_t clock;

	has_begun = false;
	standing_ns = clock_boottime_ns();
	kernel_in_doubt(f);
	assert_int_equal(pthread_create(&clock, NULL, clock_forward, f), 0);
	is_ending = true;
	end();
	is_ending = false;
	assert_int_equal(pthread_join(clock, NULL), 0);
	assert_int_equal(capture_pending(f->capture), 0);
	assert_int_equal(recorder_queue_value(&capture_recorder(f->capture)->queues[f->queue->block],
				 RTL_Q_untimed_early),
		1);
}

static void stop(void)
{
	assert_true(worker_stop(true));
}

static void a_kernel_in_doubt_is_decided_before_the_end(void **state)
{
	check_that_it_is_decided(*state, stop);
}

static void and_before_exit(void **state)
{
	check_that_it_is_decided(*state, worker_settle);
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
		TEST(a_dormant_thread_dozes_through_dispatches),
		TEST(an_early_doorbell_ends_a_doze),
		TEST(a_range_ends_a_doze),
		TEST(the_end_ends_a_doze),
		TEST(being_told_to_record_ends_a_doze),
		cmocka_unit_test_setup_teardown(a_kernel_in_doubt_is_decided_before_the_end,
			fixture_setup_brief, fixture_teardown),
		cmocka_unit_test_setup_teardown(
			and_before_exit, fixture_setup_brief, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

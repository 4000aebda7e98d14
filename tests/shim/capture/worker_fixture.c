/* SPDX-License-Identifier: MIT */
#include "tests/shim/capture/worker_fixture.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "shim/capture/front_ends/create.h"
#include "shim/events/events.h"

_Atomic int64_t boottime_offset_ns;
_Atomic uint64_t standing_ns;
__thread bool is_ending;
_Atomic bool has_begun;
_Atomic bool has_no_processor, is_kept;
bool has_no_rate;
static __thread bool is_test;

static void wait_for_processor(void)
{
	for (; has_no_processor && !is_test; is_kept = true)
		poll(NULL, 0, 1);
}

/* The first function that the shim thread calls. */
__attribute__((visibility("default"))) int pthread_setname_np(pthread_t thread, const char *name)
{
	(void)thread;
	(void)name;
	wait_for_processor();
	return 0;
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *ret)
{
	int r = (int)syscall(SYS_clock_gettime, id, ret);

	wait_for_processor();
	if (id == CLOCK_BOOTTIME)
		ret->tv_sec += boottime_offset_ns / 1000000000;
	if (standing_ns)
		*ret = (struct timespec){
			(time_t)(standing_ns / 1000000000), (long)(standing_ns % 1000000000)};
	if (is_ending && id == CLOCK_BOOTTIME)
		has_begun = true;
	return r;
}

static int counters(uint32_t node, void *ret)
{
	uint64_t now_ns = clock_boottime_ns();
	const uint64_t answer[4] = {now_ns, now_ns, now_ns, TICK_HZ};

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

/* By name, because TSan takes fstat() of a file that another thread just opened for a race. */
unsigned count_open(const char *kind, int *ret_last)
{
	char path[32], name[64];
	unsigned count = 0;

	for (int fd = 0; fd < 256; fd++) {
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, name, sizeof(name) - 1);
		name[n > 0 ? n : 0] = 0;
		if (strncmp(name, kind, strlen(kind)) != 0)
			continue;
		*ret_last = fd;
		count++;
	}
	return count;
}

unsigned count_sockets(void)
{
	int last;

	return count_open("socket:", &last);
}

static int fixture_begin(void **state, uint64_t exit_ns)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct recorder_identity identity = {.pid = getpid(), .start_time = 1};
	struct worker_setup setup;
	struct capture_hsa hsa;

	is_test = true;
	listener_open(f);
	f->sockets = count_sockets();
	assert_int_equal(identity_read(&f->identity), 0);
	f->agents = (struct agents){
		.count = 1, .gpu[0] = {.kfd_node = 1, .tick_hz = has_no_rate ? 0 : TICK_HZ}};
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

int fixture_setup(void **state)
{
	return fixture_begin(state, DEADLINE_NS);
}

int fixture_setup_brief(void **state)
{
	return fixture_begin(state, BRIEF_NS);
}

int fixture_teardown(void **state)
{
	struct fixture *f = *state;

	boottime_offset_ns = 0;
	standing_ns = 0;
	capture_stop(f->capture);
	(void)events_stop(clock_monotonic_ns() + DEADLINE_NS);
	(void)worker_stop(true);
	/* On a busy machine it may be late: what it uses stays until it is done. */
	for (int i = 0; worker_is_lost() && i < WAIT_MS; i++)
		poll(NULL, 0, 1);
	assert_false(worker_is_lost());
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

int accept_next(const struct fixture *f, int ms)
{
	struct pollfd waiting = {.fd = f->listener, .events = POLLIN};

	return poll(&waiting, 1, ms) == 1 ? accept4(f->listener, NULL, NULL, SOCK_CLOEXEC) : -1;
}

void wait_for_frame(const struct fixture *f, uint64_t number)
{
	uint64_t deadline_ns = clock_monotonic_ns() + DEADLINE_NS;

	while (recorder_published(capture_recorder(f->capture)) < number) {
		assert_true(clock_monotonic_ns() < deadline_ns);
		poll(NULL, 0, 1);
	}
}

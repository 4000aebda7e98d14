// SPDX-License-Identifier: MIT
/*
 * The process dies at each fault point of docs/recorder.md. A reader that has only the memfd finds
 * every dispatch exactly once: stored, outstanding, dropped or torn.
 */
#include "tests/shim/capture/fixture.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "shim/capture/front_ends/create.h"
#include "shim/capture/harvest.h"
#include "shim/base/tsc_clock.h"

#define PRODUCERS  2u
#define DISPATCHES 30000u
#define DEADLINE_S 300u

struct child {
	struct capture *capture;
	struct synth_queue *queue;
	unsigned number;
};

static void *child_produce(void *argument)
{
	struct child *child = argument;

	for (uint32_t i = 0; i < DISPATCHES; i++) {
		struct synth_packet packet = {
			.type = HSA_PACKET_TYPE_KERNEL_DISPATCH,
			.has_barrier = true,
			.kernel_object = 1 + i % 9,
			.variant = i,
		};

		synth_submit(child->capture, child->queue, &packet);
	}
	return NULL;
}

static void fd_send(int socket, int fd)
{
	char byte = 0, control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec vector = {.iov_base = &byte, .iov_len = 1};
	struct msghdr message = {.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control)};
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);

	if (!head)
		_exit(3);
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(head), &fd, sizeof(int));
	if (sendmsg(socket, &message, 0) != 1)
		_exit(3);
}

static int fd_receive(int socket)
{
	char byte, control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec vector = {.iov_base = &byte, .iov_len = 1};
	struct msghdr message = {.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control)};
	struct cmsghdr *head;
	int fd;

	assert_int_equal(recvmsg(socket, &message, MSG_CMSG_CLOEXEC), 1);
	head = CMSG_FIRSTHDR(&message);
	if (!head)
		return -1;
	memcpy(&fd, CMSG_DATA(head), sizeof(int));
	return fd;
}

/* Acknowledges what was published up to a point, like a collector that then dies, too. */
static void child_run(int socket, uint64_t acked_most)
{
	static const struct recorder_identity identity = {.pid = 1};
	struct child child[PRODUCERS] = {0};
	pthread_t thread[PRODUCERS];
	struct capture_hsa hsa;
	struct recorder *recorder;

	alarm(DEADLINE_S);
	synth_hsa(&hsa);
	ticks_look();
	if (capture_create(&identity, &hsa, &child[0].capture))
		_exit(2);
	recorder = capture_recorder(child[0].capture);
	fd_send(socket, recorder->fd);
	for (unsigned i = 0; i < PRODUCERS; i++) {
		child[i].capture = child[0].capture;
		child[i].queue = synth_queue_new(256);
		if (synth_adopt(child[0].capture, child[i].queue, 0))
			_exit(2);
	}
	synth_start(SYNTH_EAGER);
	for (unsigned i = 0; i < PRODUCERS; i++)
		if (pthread_create(&thread[i], NULL, child_produce, &child[i]))
			_exit(2);
	for (;;) {
		const uint8_t *frame;
		uint64_t number;
		size_t bytes;

		(void)harvest_run(child[0].capture, clock_boottime_ns());
		while (recorder_next_unsent(recorder, &number, &frame, &bytes) &&
			number <= acked_most) {
			recorder_sent(recorder, number);
			(void)recorder_acked(recorder, number);
		}
		usleep(500);
	}
}

static uint64_t counter(
	const struct recorder_header *header, uint32_t queue, enum rtl_queue_counter what)
{
	const struct recorder_queue *queues =
		(const struct recorder_queue *)((const uint8_t *)header + header->queues.offset);

	return recorder_queue_value(&queues[queue], what);
}

/* Each number below `dispatched` once, with the geometry that it was submitted with. */
static uint64_t check_queue(const struct reader *reader, uint32_t queue, uint64_t dispatched)
{
	uint64_t missing = 0;

	for (uint64_t seq = 0; seq < dispatched; seq++) {
		const struct reader_row *row = reader_row(reader, queue, seq);
		const struct reader_shape *shape;
		uint32_t grid[3], lds, scratch;
		uint16_t workgroup[3];

		missing += !row;
		if (!row || !row->frame)
			continue;
		shape = reader_shape(reader, row->shape);
		synth_geometry((uint32_t)seq, grid, workgroup, &lds, &scratch);
		assert_int_equal(shape->symbol, 1 + seq % 9);
		assert_memory_equal(shape->grid, grid, sizeof(grid));
		assert_int_equal(shape->lds, lds);
	}
	assert_null(reader_row(reader, queue, dispatched));
	return missing;
}

static void check_dead(int fd, uint64_t acked_most, const char *fault)
{
	size_t bytes = (size_t)lseek(fd, 0, SEEK_END);
	const struct recorder_header *header = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	struct reader *reader = reader_new();
	uint64_t torn = 0, total = 0;

	assert_ptr_not_equal(header, MAP_FAILED);
	/*
	 * Acknowledged frames are committed elsewhere and are taken from there. Cells may be
	 * overwritten, so only as many are acknowledged as the outbox still holds.
	 */
	assert_true(acked_most < RECORDER_CELLS);
	reader_drain(reader, fd);
	if (reader->has_failed)
		fail_msg("%s: %s", fault, reader->why);
	for (uint32_t queue = 0; queue < header->queues_used; queue++) {
		uint64_t dispatched = counter(header, queue, RTL_Q_dispatched);
		uint64_t dropped = counter(header, queue, RTL_Q_dropped_recorder_full);
		uint64_t missing = check_queue(reader, queue, dispatched);

		assert_true(missing >= dropped);
		torn += missing - dropped;
		total += dispatched;
	}
	assert_true(total > 0);
	/* One dispatching thread hit the point; the other one may have been at the same place. */
	assert_true(torn <= PRODUCERS);
	if (strncmp(fault, "after_dispatched", strlen("after_dispatched")) == 0)
		assert_true(torn >= 1);
	munmap((void *)(uintptr_t)header, bytes);
	reader_free(reader);
}

static void die_at(const char *fault, uint64_t acked_most)
{
	int pair[2], status, fd;
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	setenv("RTL_FAULT", fault, 1);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		child_run(pair[1], acked_most);
	close(pair[1]);
	fd = fd_receive(pair[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	if (WTERMSIG(status) != SIGKILL)
		fail_msg("%s was never passed: signal %d", fault, WTERMSIG(status));
	check_dead(fd, acked_most, fault);
	close(fd);
	close(pair[0]);
}

static void die_at_each_passing(const char *name)
{
	static const unsigned passings[] = {1, 2, 3, 10};
	char fault[64];

	for (size_t i = 0; i < sizeof(passings) / sizeof(passings[0]); i++) {
		snprintf(fault, sizeof(fault), "%s:%u", name, passings[i]);
		die_at(fault, 0);
		die_at(fault, 5);
	}
}

TEST_CASE(crash_after_dispatched_loses_no_record)
{
	die_at_each_passing("after_dispatched");
	die_at("after_dispatched:20000", 0);
}

TEST_CASE(crash_after_submitted_loses_no_record)
{
	die_at_each_passing("after_submitted");
	die_at("after_submitted:20000", 0);
}

TEST_CASE(crash_after_done_loses_no_record)
{
	die_at_each_passing("after_done");
	die_at("after_done:20000", 0);
}

TEST_CASE(crash_while_labelling_loses_no_record)
{
	die_at_each_passing("mid_label");
}

TEST_CASE(crash_before_publish_loses_no_record)
{
	die_at_each_passing("before_publish");
}

TEST_CASE(crash_after_publish_stores_no_record_twice)
{
	die_at_each_passing("after_publish");
}

TEST_CASE(crash_while_freeing_stores_no_record_twice)
{
	die_at_each_passing("mid_free");
}

/* SPDX-License-Identifier: MIT */
/* The shim thread while nothing is recorded: what ends its doze, and through which descriptor. */
#include "tests/shim/capture/worker_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "proto/wire/msg.h"
#include "shim/base/gate.h"
#include "shim/base/wakeup.h"
#include "shim/events/events.h"
#include "shim/events/markers.h"

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

static void wait_for_gate(void)
{
	uint64_t deadline_ns = clock_monotonic_ns() + DEADLINE_NS;

	while (!gate_is_open(gate_load(&gate_word))) {
		assert_true(clock_monotonic_ns() < deadline_ns);
		poll(NULL, 0, 1);
	}
}

/*
 * A collector that welcomes the process and tells it not to record; the thread dozes and there is a
 * queue.
 */
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

WORKER_CASE(dormant_thread_dozes_while_dispatches_come)
{
	struct synth_packet packet = {.type = HSA_PACKET_TYPE_KERNEL_DISPATCH, .kernel_object = 1};
	int fd = begin_dormant(f);

	for (int i = 0; i < 1000; i++) {
		synth_submit(f->capture, f->queue, &packet);
		while (synth_step(f->queue, SYNTH_DOORBELL))
			;
	}
	assert_true(doze_is_on());
	assert_int_equal(
		recorder_queue_value(&capture_recorder(f->capture)->queues[f->queue->block],
			RTL_Q_skipped_filter),
		1000);
	close(fd);
}

/* The doorbell is not rung again. */
WORKER_CASE(an_early_doorbell_ends_a_doze)
{
	struct synth_packet packet = {.type = HSA_PACKET_TYPE_KERNEL_DISPATCH, .kernel_object = 1};
	uint64_t deadline_ns = clock_monotonic_ns() + DEADLINE_NS, index;
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
	/* The thread does not doze again while a packet is left behind. */
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

WORKER_CASE(a_range_ends_a_doze)
{
	int fd = begin_dormant(f);

	markers_mark("something");
	assert_false(doze_is_on());
	wait_for_frame(f, 1);
	close(fd);
}

static void *mark_when_cancelled(void *is_past)
{
	pthread_cancel(pthread_self());
	markers_mark("under a lock of the program's");
	*(bool *)is_past = true;
	return NULL;
}

/*
 * A call of the shim must not end a thread that is cancelled: the program owns what the thread
 * holds.
 */
WORKER_CASE(cancelled_thread_ends_a_doze_and_survives_the_call)
{
	int fd = begin_dormant(f);
	bool is_past = false;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, mark_when_cancelled, &is_past), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(is_past);
	assert_false(doze_is_waking());
	wait_for_frame(f, 1);
	close(fd);
}

#define EVENTFD "anon_inode:[eventfd]"

static void release_meanwhile(void)
{
	int last;
	unsigned before = count_open(EVENTFD, &last);

	assert_true(doze_is_waking());
	worker_release();
	assert_int_equal(count_open(EVENTFD, &last), before);
}

/* Later events wake no thread, and a thread that is about to wake it still finds the descriptor. */
WORKER_CASE(the_end_ends_a_doze)
{
	int fd = begin_dormant(f);

	capture_stop(f->capture);
	assert_true(events_stop(clock_monotonic_ns() + DEADLINE_NS));
	assert_true(worker_stop(true));
	assert_false(doze_is_on());
	doze_open(release_meanwhile);
	doze_begin();
	doze_alert();
	assert_false(doze_is_waking() || doze_is_on());
	close(fd);
}

/*
 * A program closes descriptors that it has not opened while the thread sleeps, and puts @own there
 * (-1: nothing). Remaining work is done later; @own is not written, read or closed.
 */
static void lose_the_wake(struct fixture *f, int own)
{
	int fd = begin_dormant(f), wake;

	/* The last one: those of earlier tests stay open. */
	assert_in_range(count_open(EVENTFD, &wake), 1, 256);
	assert_int_equal(own < 0 ? close(wake) : dup3(own, wake, O_CLOEXEC), own < 0 ? 0 : wake);
	markers_mark("something");
	wait_for_frame(f, 1);
	markers_mark("more");
	wait_for_frame(f, 2);
	capture_stop(f->capture);
	assert_true(events_stop(clock_monotonic_ns() + DEADLINE_NS));
	assert_true(worker_stop(true));
	worker_release();
	assert_int_equal(own < 0 ? -1 : 0, close(wake));
	close(fd);
}

WORKER_CASE(closed_wake_descriptor_only_delays_work)
{
	lose_the_wake(f, -1);
}

WORKER_CASE(file_in_place_of_the_wake_descriptor_is_left_alone)
{
	int own = memfd_create("own", MFD_CLOEXEC);

	assert_int_equal(write(own, "12345678", 8), 8);
	assert_int_equal(lseek(own, 0, SEEK_SET), 0);
	lose_the_wake(f, own);
	assert_int_equal(lseek(own, 0, SEEK_CUR), 0);
	assert_int_equal(lseek(own, 0, SEEK_END), 8);
	close(own);
}

/* Even an eventfd with something to read. */
WORKER_CASE(eventfd_in_place_of_the_wake_descriptor_is_left_alone)
{
	uint64_t value = 0;
	int own = eventfd(7, EFD_CLOEXEC | EFD_NONBLOCK);

	lose_the_wake(f, own);
	assert_int_equal(read(own, &value, sizeof(value)), sizeof(value));
	assert_int_equal(value, 7);
	close(own);
}

/* The last: from then on this process records. */
WORKER_CASE(being_told_to_record_ends_a_doze)
{
	struct synth_packet packet = {.type = HSA_PACKET_TYPE_KERNEL_DISPATCH, .kernel_object = 1};
	int fd = begin_dormant(f);

	send_control(fd, 2, true);
	/* Each pass of the thread ends the doze for a moment, too. */
	wait_for_gate();
	wait_for_doze(false);
	synth_submit(f->capture, f->queue, &packet);
	while (synth_step(f->queue, SYNTH_DOORBELL))
		;
	wait_for_frame(f, 1);
	close(fd);
}

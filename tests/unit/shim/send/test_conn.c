/* SPDX-License-Identifier: MIT
 *
 * The shim's connection against a collector in the same thread: each takes its turn, so every
 * order of events is chosen here.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "shim/send/connection.h"
#include "shim/send/connect.h"
#include "shim/send/hello.h"
#include "shim/base/log.h"
#include "shim/record/strings.h"
#include "tests/lib/test.h"
#include "tests/shim/collector.h"

#define DEADLINE_NS 300000000000ull

struct fixture {
	char directory[64];
	char path[96];
	int listener;
	struct recorder recorder;
	struct agents agents;
	struct identity identity;
	struct rank_info rank;
	struct telemetry telemetry;
	uint8_t *hello;
	struct conn conn;
	uint64_t now_ns; /* what conn is told: moved by the tests */
	struct test_collector collector;
	struct test_connection connection;
};

static int fixture_setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct recorder_identity identity = {.pid = getpid(), .start_time = 1};
	size_t bytes;

	strcpy(f->directory, "/tmp/rtl-conn-XXXXXX");
	if (!mkdtemp(f->directory) || recorder_create(&identity, &f->recorder))
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/s", f->directory);
	if (identity_read(&f->identity))
		return -1;
	f->agents.count = 1;
	f->agents.gpu[0].gpu_id = 3;
	f->agents.gpu[0].tick_hz = 100000000;
	f->rank.rank = (struct rank_number){true, 5};
	f->hello = hello_encode(&(struct hello){.identity = &f->identity,
					.rank = &f->rank,
					.agents = &f->agents,
					.front_end = "shadow"},
		&bytes);
	if (!f->hello || conn_init(&f->conn, &f->recorder, f->path, f->hello, bytes))
		return -1;
	f->now_ns = 1000000000;
	f->listener = -1;
	f->connection.fd = -1;
	msg_arena_init(&f->collector.arena, ARENA_BYTES_MAX);
	*state = f;
	return 0;
}

static int fixture_teardown(void **state)
{
	struct fixture *f = *state;

	conn_done(&f->conn);
	if (f->connection.fd >= 0)
		test_connection_close(&f->connection);
	if (f->listener >= 0)
		close(f->listener);
	for (unsigned i = 0; i < f->collector.processes; i++)
		test_process_free(f->collector.process[i]);
	msg_arena_done(&f->collector.arena);
	recorder_close(&f->recorder);
	free(f->hello);
	unlink(f->path);
	rmdir(f->directory);
	free(f);
	return 0;
}

static void collector_listen(struct fixture *f)
{
	f->listener = test_listen(f->path);
	assert_true(f->listener >= 0);
}

static void collector_accept(struct fixture *f)
{
	int fd = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC);

	assert_true(fd >= 0);
	test_connection_open(&f->connection, fd);
}

/* One turn of both; the shim's with fresh telemetry, as its thread would. */
static void turn(struct fixture *f)
{
	bool is_whole;
	uint8_t *at;

	if (conn_wants_telemetry(&f->conn)) {
		recorder_anchor_add(&f->recorder, 0, &(struct recorder_anchor){1, 2, 3, 4});
		at = conn_telemetry(&f->conn, &is_whole);
		assert_non_null(at);
		conn_put_telemetry(
			&f->conn, telemetry_encode(&f->telemetry, &f->recorder, is_whole, at));
	}
	conn_step(&f->conn, f->now_ns);
	if (f->connection.fd >= 0)
		assert_int_equal(test_connection_step(&f->collector, &f->connection), 0);
}

/* The descriptor that the shim reads from after the program has put a file of its own there; -1:
 * none. */
static int taken = -1;

ssize_t read_from(int fd, void *buffer, size_t bytes, int flags) __asm__("recv");
ssize_t read_from(int fd, void *buffer, size_t bytes, int flags)
{
	int own = fd == taken ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;

	if (own >= 0) {
		assert_int_equal(dup2(own, fd), fd);
		close(own);
	}
	return recvfrom(fd, buffer, bytes, flags, NULL, NULL);
}

#define TURNS_UNTIL(f, condition)                                                                  \
	do {                                                                                       \
		uint64_t deadline_ = clock_monotonic_ns() + DEADLINE_NS;                           \
		while (!(condition)) {                                                             \
			assert_true(clock_monotonic_ns() < deadline_);                             \
			turn(f);                                                                   \
		}                                                                                  \
	} while (0)

static void connect_to_collector(struct fixture *f)
{
	if (f->listener < 0)
		collector_listen(f);
	conn_step(&f->conn, f->now_ns);
	collector_accept(f);
	TURNS_UNTIL(f, f->conn.state == CONN_STREAMING);
}

/* A frame of one marker whose id is the frame's number. */
static uint64_t frame_publish(struct fixture *f)
{
	uint32_t kind = RTL_MARKER_END, zero = 0;
	uint64_t none = 0, now = 7;
	struct recorder_open open;
	Rtl__Markers markers = RTL__MARKERS__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;

	if (recorder_frame_open(&f->recorder, &open))
		return 0;
	markers.has_n = 1;
	markers.n = 1;
	markers.n_kind = markers.n_id = markers.n_parent = 1;
	markers.n_tid = markers.n_time_ns = markers.n_text = 1;
	markers.kind = &kind;
	markers.id = &open.number;
	markers.parent = &none;
	markers.tid = markers.text = &zero;
	markers.time_ns = &now;
	frame.has_number = 1;
	frame.number = open.number;
	frame.body_case = RTL__FRAME__BODY_MARKERS;
	frame.markers = &markers;
	recorder_frame_publish(&f->recorder, &open, msg_pack(&frame, open.bytes), 1);
	return open.number;
}

/* Every frame once, in order. */
static void stored_check(const struct fixture *f, uint64_t frames)
{
	const struct test_process *process = f->collector.process[0];

	assert_int_equal(f->collector.processes, 1);
	assert_int_equal(process->hw, frames);
	assert_int_equal(process->marker_count, frames);
	for (uint64_t i = 0; i < frames; i++)
		assert_int_equal(process->markers[i].id, i + 1);
}

#define CASE(claim) TEST_CASE_WITH(claim, fixture_setup, fixture_teardown, struct fixture *f)

CASE(greets_with_what_it_is_and_its_recorder)
{
	struct test_process *process;
	struct stat stat;

	connect_to_collector(f);
	process = f->collector.process[0];
	assert_int_equal(process->pid, getpid());
	assert_int_equal(process->rank, 5);
	assert_int_equal(process->gpus, 1);
	assert_int_equal(process->gpu_id[0], 3);
	assert_int_equal(fstat(process->recorder, &stat), 0);
	assert_int_equal(stat.st_size, f->recorder.bytes);
}

CASE(sends_frames_in_order_and_frees_what_is_acknowledged)
{
	connect_to_collector(f);
	for (int i = 0; i < 100; i++)
		frame_publish(f);
	TURNS_UNTIL(f, !recorder_unacked(&f->recorder));
	stored_check(f, 100);
	assert_true(f->collector.process[0]->anchors > 0);
	assert_int_equal(f->collector.process[0]->process_counter[RTL_P_frames_published], 100);
}

/* More than a socket takes at once: megabytes of definitions, and every cell full of frames. */
CASE(partial_writes_never_mix_frames)
{
	static char text[SYMBOL_BYTES_MAX];
	int small = 4096;
	struct strings strings;
	char name[16];

	strings_init(&strings, &f->recorder);
	memset(text, 'k', sizeof(text));
	for (int i = 0; i < 150; i++) {
		snprintf(name, sizeof(name), "%015d", i);
		memcpy(text, name, 15);
		assert_int_equal(strings_intern(&strings, text, sizeof(text)), i + 1);
	}
	connect_to_collector(f);
	setsockopt(f->conn.fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	while (frame_publish(f))
		;
	TURNS_UNTIL(f, !recorder_unacked(&f->recorder));
	stored_check(f, RECORDER_CELLS);
	for (int i = 0; i < 150; i++)
		assert_int_equal(strlen(f->collector.process[0]->strings[i + 1]), sizeof(text));
	assert_int_equal(strings_intern(&strings, text, sizeof(text)), 150);
	strings_done(&strings);
}

CASE(after_a_hang_up_it_sends_again_what_was_not_stored)
{
	f->collector.is_silent = true;
	connect_to_collector(f);
	for (int i = 0; i < 10; i++)
		frame_publish(f);
	TURNS_UNTIL(f, !conn_is_busy(&f->conn));
	assert_int_equal(recorder_unacked(&f->recorder), 10);

	/* The collector stored 6 of the 10 and died before it said so. */
	f->collector.process[0]->hw = 6;
	f->collector.process[0]->marker_count = 6;
	test_connection_close(&f->connection);
	conn_step(&f->conn, f->now_ns);
	assert_int_equal(f->conn.state, CONN_AWAY);
	frame_publish(f);
	f->collector.is_silent = false;
	f->now_ns += 20000000;
	connect_to_collector(f);
	TURNS_UNTIL(f, !recorder_unacked(&f->recorder));
	stored_check(f, 11);
	assert_int_equal(atomic_load(&f->recorder.header->process[RTL_P_sent_again]), 4);
	assert_int_equal(atomic_load(&f->recorder.header->process[RTL_P_connects]), 2);
}

CASE(tries_at_once_then_ever_more_rarely_and_for_ever)
{
	uint64_t last_ns, gap_ns = 0;

	conn_step(&f->conn, f->now_ns);
	for (int i = 0; i < 30; i++) {
		last_ns = f->now_ns;
		assert_int_equal(f->conn.state, CONN_AWAY);
		assert_true(f->conn.next_try_ns > f->now_ns);
		f->now_ns = f->conn.next_try_ns;
		assert_true(f->now_ns - last_ns >= gap_ns);
		gap_ns = f->now_ns - last_ns;
		assert_true(gap_ns <= RECONNECT_NS_FAST);
		conn_step(&f->conn, f->now_ns);
	}
	assert_int_equal(gap_ns, RECONNECT_NS_FAST);
	for (int i = 0; i < 100; i++) {
		f->now_ns = f->conn.next_try_ns;
		conn_step(&f->conn, f->now_ns);
	}
	assert_int_equal(f->conn.next_try_ns - f->now_ns, RECONNECT_NS_MAX);

	/* It was away for minutes; then a collector comes. */
	f->now_ns = f->conn.next_try_ns;
	frame_publish(f);
	connect_to_collector(f);
	TURNS_UNTIL(f, !recorder_unacked(&f->recorder));
	stored_check(f, 1);
}

/* Whenever in the first second a collector comes back: it is found a quarter of that time later. */
CASE(a_collector_is_found_within_a_quarter_of_its_outage)
{
	uint64_t start_ns = f->now_ns;

	conn_step(&f->conn, f->now_ns);
	assert_int_equal(f->conn.next_try_ns - f->now_ns, RECONNECT_NS_MIN);
	while (f->now_ns - start_ns < 1000000000u) {
		uint64_t away_ns = f->now_ns - start_ns, gap_ns;

		gap_ns = f->conn.next_try_ns - f->now_ns;
		assert_true(gap_ns <= RECONNECT_NS_MIN || gap_ns <= away_ns / 4);
		f->now_ns = f->conn.next_try_ns;
		conn_step(&f->conn, f->now_ns);
	}
}

CASE(a_collector_that_stored_something_is_looked_for_at_once)
{
	/* Each life of it ends before the shim would call the connection lasting. */
	for (int i = 1; i <= 100; i++) {
		frame_publish(f);
		connect_to_collector(f);
		TURNS_UNTIL(f, !recorder_unacked(&f->recorder));
		test_connection_close(&f->connection);
		conn_step(&f->conn, f->now_ns);
		assert_int_equal(f->conn.state, CONN_AWAY);
		assert_int_equal(f->conn.next_try_ns - f->now_ns, RECONNECT_NS_MIN);
		f->now_ns = f->conn.next_try_ns + RECONNECT_NS_FAST;
	}
	stored_check(f, 100);
}

CASE(an_ack_beyond_what_was_sent_ends_the_connection)
{
	Rtl__Ack ack = RTL__ACK__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;

	connect_to_collector(f);
	ack.has_frame = 1;
	ack.frame = 99;
	frame.body_case = RTL__FRAME__BODY_ACK;
	frame.ack = &ack;
	assert_int_equal(test_send(f->connection.fd, &frame), 0);
	conn_step(&f->conn, f->now_ns);
	assert_int_equal(f->conn.state, CONN_AWAY);
	assert_int_equal(recorder_unacked(&f->recorder), 0);
}

CASE(garbage_ends_the_connection_and_no_more)
{
	static const uint8_t garbage[][8] = {
		{0xff, 0xff, 0xff, 0x7f, 1, 2, 3, 4}, /* a length past any limit */
		{0, 0, 0, 0, 0, 0, 0, 0},	      /* none */
		{4, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}, /* no message */
	};

	for (size_t i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++) {
		f->now_ns += RECONNECT_NS_MAX;
		connect_to_collector(f);
		assert_int_equal(
			send(f->connection.fd, garbage[i], sizeof(garbage[i]), MSG_NOSIGNAL), 8);
		conn_step(&f->conn, f->now_ns);
		assert_int_equal(f->conn.state, CONN_AWAY);
		test_connection_close(&f->connection);
	}
}

/* Connected once, then backing off from a collector that is gone. */
static void lose_collector(struct fixture *f)
{
	connect_to_collector(f);
	TURNS_UNTIL(f, !conn_is_busy(&f->conn));
	test_connection_close(&f->connection);
	close(f->listener);
	unlink(f->path);
	f->listener = -1;
}

static bool has_shim_connected(const struct fixture *f)
{
	struct pollfd waiting = {.fd = f->listener, .events = POLLIN};
	char byte;
	int fd = poll(&waiting, 1, 0) == 1 ? accept4(f->listener, NULL, NULL, SOCK_CLOEXEC) : -1;
	bool has_hello = fd >= 0 && recv(fd, &byte, 1, MSG_DONTWAIT) == 1;

	if (fd >= 0)
		close(fd);
	return has_hello;
}

/* Sends a refusal as a collector that listens from here on. */
static void refuse(struct fixture *f, const char *text)
{
	Rtl__Refusal refusal = RTL__REFUSAL__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;
	int fd;

	collector_listen(f);
	conn_step(&f->conn, f->now_ns);
	fd = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC);
	msg_set_bytes(&refusal.has_text, &refusal.text, text);
	frame.body_case = RTL__FRAME__BODY_REFUSAL;
	frame.refusal = &refusal;
	assert_int_equal(test_send(fd, &frame), 0);
	close(fd);
	conn_step(&f->conn, f->now_ns);
	assert_int_equal(f->conn.state, CONN_AWAY);
}

CASE(a_refusal_may_be_empty)
{
	refuse(f, "");
	assert_int_equal(atomic_load(&f->recorder.header->process[RTL_P_refused]), 1);
}

CASE(a_refusal_is_counted_and_slows_it_down)
{
	refuse(f, "not you\x1b[31m");
	assert_true(f->conn.next_try_ns - f->now_ns >= RECONNECT_NS_MAX);

	/* And not asked again because the program ends. */
	conn_hurry(&f->conn);
	assert_false(conn_is_busy(&f->conn));
	conn_step(&f->conn, f->now_ns);
	assert_false(has_shim_connected(f));
	assert_int_equal(atomic_load(&f->recorder.header->process[RTL_P_refused]), 1);

	/* A collector that listens in the place of one that ended is another one. */
	close(f->listener);
	unlink(f->path);
	f->now_ns = f->conn.next_try_ns;
	conn_step(&f->conn, f->now_ns);
	collector_listen(f);
	conn_hurry(&f->conn);
	conn_step(&f->conn, f->now_ns);
	assert_true(has_shim_connected(f));
	conn_step(&f->conn, f->now_ns);
	assert_int_equal(f->conn.state, CONN_AWAY);
	assert_true(f->conn.next_try_ns - f->now_ns < RECONNECT_NS_MAX);
}

CASE(at_the_end_the_shim_reconnects_at_once_and_once)
{
	/* It is told of the end before it has noticed the loss. */
	lose_collector(f);
	conn_hurry(&f->conn);
	conn_step(&f->conn, f->now_ns);
	assert_int_equal(f->conn.state, CONN_AWAY);
	collector_listen(f);
	assert_true(conn_is_busy(&f->conn));
	conn_step(&f->conn, f->now_ns);
	assert_false(conn_is_busy(&f->conn));
	assert_true(has_shim_connected(f));

	/* That one hangs up as well, and is not asked again. */
	conn_step(&f->conn, f->now_ns);
	assert_int_equal(f->conn.state, CONN_AWAY);
	assert_false(conn_is_busy(&f->conn));
	conn_step(&f->conn, f->now_ns);
	assert_false(has_shim_connected(f));
}

CASE(a_collector_that_is_gone_is_not_waited_for_at_the_end)
{
	lose_collector(f);
	conn_step(&f->conn, f->now_ns);
	conn_hurry(&f->conn);
	assert_true(conn_is_busy(&f->conn));
	conn_step(&f->conn, f->now_ns);
	assert_false(conn_is_busy(&f->conn));
}

/* As many connections wait as one listener allows: the collector has much to do. */
CASE(at_the_end_a_busy_collector_is_waited_for)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int waiting[2];

	lose_collector(f);
	conn_step(&f->conn, f->now_ns);
	collector_listen(f);
	assert_int_equal(listen(f->listener, 0), 0);
	strcpy(address.sun_path, f->path);
	for (int i = 0; i < 2; i++)
		waiting[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(connect(waiting[0], (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(connect(waiting[1], (struct sockaddr *)&address, sizeof(address)), -1);
	assert_int_equal(errno, EAGAIN);

	conn_hurry(&f->conn);
	for (int i = 0; i < 3; i++) {
		conn_step(&f->conn, f->now_ns);
		assert_true(conn_is_busy(&f->conn));
	}
	assert_false(has_shim_connected(f)); /* the first one in the backlog does not answer */
	conn_step(&f->conn, f->now_ns);
	assert_false(conn_is_busy(&f->conn));
	assert_true(has_shim_connected(f));
	for (int i = 0; i < 2; i++)
		close(waiting[i]);
}

/* Sends it as the collector to which the shim is connected. */
static void send_control(struct fixture *f, uint64_t seq, bool record, uint64_t duration_ns)
{
	Rtl__Control control = RTL__CONTROL__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;

	control.has_seq = seq != 0;
	control.seq = seq;
	control.has_record = true;
	control.record = record;
	control.has_duration_ns = duration_ns != 0;
	control.duration_ns = duration_ns;
	frame.body_case = RTL__FRAME__BODY_CONTROL;
	frame.control = &control;
	assert_int_equal(test_send(f->connection.fd, &frame), 0);
}

CASE(a_start_and_a_stop_are_answered_with_the_state)
{
	const struct test_process *process;

	connect_to_collector(f);
	process = f->collector.process[0];
	TURNS_UNTIL(f, process->is_recording);
	send_control(f, 5, false, 0);
	TURNS_UNTIL(f, process->control_seq == 5);
	assert_false(process->is_recording);
	/* Also where the state changes for another reason. */
	conn_settle(&f->conn, true);
	conn_tell_state(&f->conn);
	TURNS_UNTIL(f, !conn_is_busy(&f->conn));
	send_control(f, 6, true, 1000000000000u);
	TURNS_UNTIL(f, process->control_seq == 6);
	assert_true(process->is_recording);
	/* One without its number is no control. */
	send_control(f, 0, true, 0);
	conn_step(&f->conn, f->now_ns);
	assert_int_equal(f->conn.state, CONN_AWAY);
}

/* Sends @frame as the answer of a collector to Hello. */
static void answer_hello(struct fixture *f, const Rtl__Frame *frame)
{
	int fd;

	collector_listen(f);
	conn_step(&f->conn, f->now_ns);
	fd = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC);
	assert_int_equal(test_send(fd, frame), 0);
	conn_step(&f->conn, f->now_ns);
	assert_int_equal(f->conn.state, CONN_AWAY);
	close(fd);
}

CASE(a_collector_of_another_protocol_counts_as_one_that_refuses)
{
	Rtl__Welcome welcome = RTL__WELCOME__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;

	welcome.has_version = true;
	welcome.version = 99;
	frame.body_case = RTL__FRAME__BODY_WELCOME;
	frame.welcome = &welcome;
	answer_hello(f, &frame);
	assert_true(f->conn.is_refused && f->conn.has_complained);
	assert_true(f->conn.next_try_ns - f->now_ns >= RECONNECT_NS_MAX);
}

CASE(a_frame_that_is_not_for_a_shim_ends_the_connection)
{
	Rtl__SessionsReply reply = RTL__SESSIONS_REPLY__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;

	frame.body_case = RTL__FRAME__BODY_SESSIONS_REPLY;
	frame.sessions_reply = &reply;
	answer_hello(f, &frame);
	assert_true(f->conn.is_refused);
}

/* What the shim says of a collector that is not there: without queues, then with one. The recorder
 * is not in a child, so stderr is a pipe for so long. */
static void miss_collector(struct fixture *f, unsigned debug, bool is_quiet, char ret[512])
{
	int ends[2], own = dup(STDERR_FILENO);
	ssize_t bytes;

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	slog_init(debug);
	f->recorder.header->queues_used = 0;
	f->conn.has_complained = false;
	f->conn.is_quiet = is_quiet;
	conn_step(&f->conn, f->now_ns);
	assert_int_equal(write(STDERR_FILENO, "queues;", 7), 7);
	f->recorder.header->queues_used = 1;
	conn_last_words(&f->conn);
	conn_last_words(&f->conn);
	slog_init(0);
	assert_int_equal(dup2(own, STDERR_FILENO), STDERR_FILENO);
	close(own);
	close(ends[1]);
	bytes = read(ends[0], ret, 511);
	close(ends[0]);
	ret[bytes > 0 ? bytes : 0] = '\0';
}

CASE(a_collector_that_is_missing_is_named_once_when_records_would_be_lost)
{
	char found[512], text[256];

	miss_collector(f, 1, false, found);
	snprintf(text, sizeof(text),
		"queues;rtl: no collector at %s: No such file or directory; nothing is stored "
		"unless one comes\n",
		f->path);
	assert_string_equal(found, text);
	/* Another process of its job says so. */
	miss_collector(f, 0, true, found);
	assert_string_equal(found, "queues;");
	miss_collector(f, 1, true, found);
	snprintf(text, sizeof(text), "queues;rtl: no collector at %s: No such file or directory\n",
		f->path);
	assert_string_equal(found, text);
}

CASE(a_process_that_cannot_be_recorded_tells_a_collector_that_listens)
{
	static const uint8_t hello[] = {1, 2, 3, 4};
	uint8_t found[8];
	int fd;

	dial_tell(f->path, hello, sizeof(hello));
	collector_listen(f);
	dial_tell(f->path, hello, sizeof(hello));
	fd = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(read(fd, found, sizeof(found)), sizeof(hello));
	assert_memory_equal(found, hello, sizeof(hello));
	close(fd);
}

TEST_CASE(without_rtl_socket_the_service_is_dialled)
{
	char path[DIAL_PATHS_MAX][LABEL_BYTES_MAX] = {0};

	assert_int_equal(dial_paths("/s", path), 1);
	assert_string_equal(path[0], "/s");
	assert_int_equal(dial_paths("", path), 2);
	assert_string_equal(path[0], "/run/rtl.sock");
	assert_string_equal(path[1], "/run/rtl/rtl.sock");
}

CASE(says_bye_after_the_last_frame)
{
	connect_to_collector(f);
	for (int i = 0; i < 5; i++)
		frame_publish(f);
	conn_bye(&f->conn);
	TURNS_UNTIL(f, f->collector.process[0]->has_said_bye);
	stored_check(f, 5);
	assert_false(conn_is_busy(&f->conn));
}

CASE(trusts_itself_root_and_user_rtl_only)
{
	FILE *file = fopen(f->path, "w");

	fputs("root:x:0:0::/:/bin/sh\nnotrtl:x:77:77::/:\nrtl:x:4711:4711::/:\nrtlx:x:78:78::/:\n",
		file);
	fclose(file);
	assert_true(dial_trusts(0, f->path));
	assert_true(dial_trusts(geteuid(), f->path));
	assert_true(dial_trusts(4711, f->path));
	assert_false(dial_trusts(77, f->path));
	assert_false(dial_trusts(78, f->path));
	assert_false(dial_trusts(4711, "/nonexistent"));
}

/* The service's user is one of the last that come to a node. */
CASE(trusts_the_user_rtl_behind_any_number_of_users)
{
	FILE *file = fopen(f->path, "w");

	for (unsigned uid = 10000; uid < 30000; uid++)
		fprintf(file, "user%u:x:%u:%u::/home/user%u:/bin/bash\n", uid, uid, uid, uid);
	fputs("rtl:x:4711:4711::/:\n", file);
	fclose(file);
	assert_true(dial_trusts(4711, f->path));
	assert_false(dial_trusts(29999, f->path));
}

CASE(descriptor_that_the_program_takes_in_the_middle_of_a_step_is_no_collector_s_fault)
{
	collector_listen(f);
	conn_step(&f->conn, f->now_ns);
	assert_int_equal(f->conn.state, CONN_GREETING);
	taken = f->conn.fd;
	conn_step(&f->conn, f->now_ns);
	assert_int_equal(f->conn.state, CONN_AWAY);
	assert_false(f->conn.has_complained);
	assert_false(f->conn.is_refused);
	/* What is the program's stays open. */
	assert_int_equal(close(taken), 0);
	taken = -1;
}

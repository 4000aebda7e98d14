/* SPDX-License-Identifier: MIT */
/* What the server promises to shims, and what it does not let them do. */
#include "tests/unit/collectord/loop/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "collectord/loop/sessions/instance.h"
#include "collectord/loop/resume.h"
#include "collectord/loop/sessions/fd_store.h"
#include "collectord/loop/connections/peer.h"
#include "collectord/loop/sessions/session.h"
#include "proto/base/limits.h"

static bool has_ended(void *data)
{
	return ((struct store_process *)data)->has_ended;
}

SERVER_CASE(hello_is_answered_by_welcome)
{
	struct fake_shim shim;

	assert_int_equal(harness_shim(h, &shim, "job"), 0);
	assert_int_equal(fake_store.n_processes, 1);
	assert_int_equal(fake_store.processes->pid, shim.child);
	assert_string_equal(fake_store.sessions->job, "job");
	assert_null(strstr(fake_store.sessions->name, "/"));
	fake_shim_done(&shim);
}

SERVER_CASE(session_names_hold_no_byte_of_a_peer)
{
	struct fake_shim shim;

	harness_shim(h, &shim, "../../etc/evil");
	assert_null(strstr(fake_store.sessions->name, "evil"));
	assert_null(strstr(fake_store.sessions->path, ".."));
	fake_shim_done(&shim);
}

SERVER_CASE(a_version_that_is_not_ours_is_refused)
{
	struct fake_shim shim;

	fake_shim_init(&shim, "job");
	shim.version_min = shim.version_max = PROTO_VERSION_MAX + 1;
	harness_say_hello(h, &shim, 1);
	harness_expect_refusal(h, &shim, "protocol");
	assert_int_equal(fake_store.n_sessions, 0);
	fake_shim_done(&shim);
}

SERVER_CASE(hello_without_its_recorder_is_refused)
{
	for (unsigned n = 0; n <= 3; n++) {
		struct fake_shim shim;

		if (n == 1)
			continue;
		fake_shim_init(&shim, "job");
		harness_say_hello(h, &shim, n);
		harness_expect_refusal(h, &shim, "exactly one");
		fake_shim_done(&shim);
	}
}

SERVER_CASE(an_unsealed_recorder_is_refused)
{
	struct fake_shim shim;

	fake_shim_init(&shim, "job");
	shim.is_unsealed = true;
	harness_say_hello(h, &shim, 1);
	harness_expect_refusal(h, &shim, "sealed");
	fake_shim_done(&shim);
}

SERVER_CASE(a_recorder_of_another_process_is_refused)
{
	struct fake_shim shim;
	struct fake_shim other;
	int memfd;

	fake_shim_init(&shim, "job");
	fake_shim_init(&other, "job");
	memfd = shim.memfd;
	shim.memfd = other.memfd;
	harness_say_hello(h, &shim, 1);
	harness_expect_refusal(h, &shim, "another process");
	shim.memfd = memfd;
	fake_shim_done(&shim);
	fake_shim_done(&other);
}

SERVER_CASE(garbage_closes_that_peer_only)
{
	static const uint8_t oversized[] = {0, 0, 0, 0x7f, 1};
	static const uint8_t empty[] = {0, 0, 0, 0};
	static const uint8_t nonsense[] = {3, 0, 0, 0, 0xff, 0xff, 0xff};
	const struct {
		const void *bytes;
		size_t n;
	} inputs[] = {{oversized, sizeof(oversized)}, {empty, sizeof(empty)},
		{nonsense, sizeof(nonsense)}};
	struct fake_shim good;

	harness_shim(h, &good, "job");
	for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++) {
		struct fake_shim bad;

		harness_connect(h, &bad);
		fake_send_bytes(bad.fd, inputs[i].bytes, inputs[i].n);
		harness_expect_refusal(h, &bad, "");
		fake_shim_done(&bad);
	}
	fake_store_answer(h->store, STORE_COMMITTED, fake_store.processes->owner, 1, NULL);
	assert_int_equal(harness_expect(h, &good, RTL__FRAME__BODY_ACK)->ack->frame, 1);
	fake_shim_done(&good);
}

SERVER_CASE(an_oversized_frame_closes_a_greeted_shim)
{
	uint8_t length[FRAME_PREFIX_BYTES];
	struct fake_shim shim;

	harness_shim(h, &shim, "job");
	frame_put_length(length, FRAME_BYTES_MAX + 1);
	fake_send_bytes(shim.fd, length, sizeof(length));
	harness_expect_refusal(h, &shim, "length");
	assert_false(fake_store.processes->has_ended);
	fake_shim_done(&shim);
}

SERVER_CASE(a_bad_frame_closes_its_connection)
{
	struct fake_shim shim;

	harness_shim(h, &shim, "job");
	fake_store_answer(
		h->store, STORE_BAD_FRAME, fake_store.processes->owner, 3, "frame 5 after frame 3");
	harness_expect_refusal(h, &shim, "frame 5 after frame 3");
	fake_shim_done(&shim);
}

static bool has_frames(void *data)
{
	return ((struct store_process *)data)->frame_bytes >= 100;
}

SERVER_CASE(a_full_store_stops_the_reading_and_nothing_is_lost)
{
	struct store_process *process;
	struct fake_shim shim;
	uint8_t frame[4096] = {0};
	size_t sent = 0;
	size_t taken;
	ssize_t n;

	harness_shim(h, &shim, "job");
	process = fake_store.processes;
	fake_store.is_full = true;
	frame_put_length(frame, sizeof(frame) - FRAME_PREFIX_BYTES);
	fake_send_bytes(shim.fd, frame, sizeof(frame));
	sent += sizeof(frame);
	harness_wait(h, has_frames, process);
	taken = process->frame_bytes;
	/* From here on the kernel's buffer fills up, since the collector does not read. */
	while ((n = send(shim.fd, frame, sizeof(frame), MSG_DONTWAIT | MSG_NOSIGNAL)) ==
		sizeof(frame)) {
		sent += sizeof(frame);
		harness_turn(h);
	}
	assert_int_equal(process->frame_bytes, taken);
	fake_store.is_full = false;
	fake_store_answer(h->store, STORE_ROOM, process->owner, 0, NULL);
	while (process->frame_bytes < sent)
		harness_turn(h);
	assert_int_equal(process->frame_bytes, sent);
	fake_shim_done(&shim);
}

/* Each of a thousand hears that only when something of it was taken: that is not much then. */
SERVER_CASE(a_full_store_is_given_a_page_at_a_time)
{
	enum { EACH = 1000, FRAMES = 16 };
	struct store_process *process;
	uint8_t frames[FRAMES * EACH] = {0};
	struct fake_shim shim;

	harness_shim(h, &shim, "job");
	process = fake_store.processes;
	fake_store.is_full = true;
	for (unsigned i = 0; i < FRAMES; i++)
		frame_put_length(frames + i * EACH, EACH - FRAME_PREFIX_BYTES);
	assert_int_equal(fake_send_bytes(shim.fd, frames, sizeof(frames)), 0);
	harness_wait(h, has_frames, process);
	assert_int_equal(process->frame_bytes, 4096 / EACH * EACH);
	fake_store.is_full = false;
	fake_store_answer(h->store, STORE_ROOM, process->owner, 0, NULL);
	while (process->frame_bytes < sizeof(frames))
		harness_turn(h);
	fake_shim_done(&shim);
}

/* Its peer has memory for what it has begun, and for nothing else. */
SERVER_CASE(a_shim_has_a_buffer_for_the_rest_of_a_frame)
{
	enum { BYTES = 20000 };
	const struct frame_reader *reader;
	struct store_process *process;
	static uint8_t frame[BYTES];
	struct fake_shim shim;

	harness_shim(h, &shim, "job");
	process = fake_store.processes;
	reader = &h->server->peers->reader;
	frame_put_length(frame, BYTES - FRAME_PREFIX_BYTES);
	assert_int_equal(fake_send_bytes(shim.fd, frame, BYTES), 0);
	assert_int_equal(fake_send_bytes(shim.fd, frame, BYTES / 2), 0);
	while (process->frame_bytes < BYTES || reader->fill < BYTES / 2)
		harness_turn(h);
	assert_int_equal(reader->capacity, BYTES);
	assert_false(reader->is_lent);
	assert_int_equal(fake_send_bytes(shim.fd, frame + BYTES / 2, BYTES / 2), 0);
	while (process->frame_bytes < 2 * BYTES)
		harness_turn(h);
	assert_null(reader->buffer);
	assert_int_equal(reader->capacity, 0);
	fake_shim_done(&shim);
}

static bool is_away(void *data)
{
	return ((struct server *)data)->n_peers == 0;
}

SERVER_CASE(a_hang_up_is_not_a_death)
{
	struct store_process *process;
	struct fake_shim shim;

	harness_shim(h, &shim, "job");
	process = fake_store.processes;
	fake_shim_hang_up(&shim);
	harness_wait(h, is_away, h->server);
	assert_false(process->has_ended);
	assert_false(process->session->is_closed);
	fake_shim_kill(&shim);
	harness_wait(h, has_ended, process);
	assert_int_equal(process->how, STORE_ENDED_KILLED);
	assert_int_equal(process->exit_status, 128 + SIGKILL);
	assert_true(process->had_memfd);
	fake_shim_done(&shim);
}

SERVER_CASE(a_death_is_drained_while_connected)
{
	struct store_process *process;
	struct fake_shim shim;

	harness_shim(h, &shim, "job");
	process = fake_store.processes;
	fake_shim_kill(&shim);
	harness_wait(h, has_ended, process);
	assert_true(process->had_memfd);
	harness_expect_closed(h, &shim);
	fake_shim_done(&shim);
}

SERVER_CASE(the_dead_are_drained_before_the_end)
{
	struct store_process *dead, *live;
	struct fake_shim shim[2];

	harness_shim(h, &shim[0], "job");
	dead = fake_store.processes;
	harness_shim(h, &shim[1], "job");
	live = fake_store.processes;
	assert_ptr_not_equal(dead, live);
	/* SIGTERM is looked at before the loop has seen the death. */
	fake_shim_kill(&shim[0]);
	server_stop(h->server, 0);
	assert_true(dead->has_ended);
	assert_true(dead->had_memfd);
	assert_false(live->has_ended);
	fake_shim_done(&shim[0]);
	fake_shim_done(&shim[1]);
}

SERVER_CASE(another_token_of_the_same_pid_is_an_exec)
{
	struct store_process *before;
	struct fake_shim first;
	struct fake_shim second;

	harness_own_shim(h, &first, "job");
	before = fake_store.processes;
	harness_own_shim(h, &second, "job");
	assert_true(before->has_ended);
	assert_int_equal(before->how, STORE_ENDED_EXEC);
	assert_true(before->had_memfd);
	assert_int_equal(fake_store.n_processes, 2);
	fake_shim_done(&first);
	fake_shim_done(&second);
}

/* This very process, as an earlier life of the collector left it: there is no recorder of it. */
static void leave(struct session *session, const struct fake_shim *shim)
{
	struct store_answer answer = {.kind = STORE_LEFT_PROCESS};

	answer.left.uid = getuid();
	answer.left.pid = getpid();
	answer.left.start_time = fake_start_time(getpid());
	answer.left.is_this_boot = true;
	memcpy(answer.left.token, shim->recorder->token, sizeof(answer.left.token));
	session_answer(session, &answer);
}

/* tests/reliability/model/recovery.pml, MISTAKE_8: the running program was taken for the one
 * before. */
SERVER_CASE(of_two_programs_left_the_one_that_says_hello_runs)
{
	struct fake_shim other, before, now;
	struct session *session;

	harness_shim(h, &other, "job");
	session = fake_store.sessions->owner;
	fake_shim_init(&before, "job");
	fake_shim_init(&now, "job");
	leave(session, &before);
	leave(session, &now);
	harness_say_hello(h, &now, 1);
	harness_expect(h, &now, RTL__FRAME__BODY_WELCOME);
	assert_false(fake_store.processes->has_ended);
	assert_true(fake_store.processes->next->has_ended);
	assert_int_equal(fake_store.processes->next->how, STORE_ENDED_EXEC);
	fake_shim_done(&other);
	fake_shim_done(&before);
	fake_shim_done(&now);
}

SERVER_CASE(what_an_execed_program_left_ends_when_its_successor_is_here)
{
	struct fake_shim before, now;
	struct session *session;

	fake_shim_init(&before, "job");
	harness_own_shim(h, &now, "job");
	session = fake_store.sessions->owner;
	leave(session, &before);
	assert_true(fake_store.processes->has_ended);
	assert_int_equal(fake_store.processes->how, STORE_ENDED_EXEC);
	assert_false(fake_store.processes->next->has_ended);
	fake_shim_done(&before);
	fake_shim_done(&now);
}

SERVER_CASE(a_failed_session_refuses_its_shim)
{
	struct fake_shim shim;

	fake_store.refuses_sessions = true;
	fake_shim_init(&shim, "job");
	harness_say_hello(h, &shim, 1);
	harness_expect_refusal(h, &shim, "no room");
	assert_true(fake_store.sessions->is_freed);
	fake_shim_done(&shim);
}

SERVER_CASE(a_connection_without_a_whole_frame_in_time_is_closed)
{
	static const uint8_t begun[] = {100, 0, 0, 0, 1};
	struct fake_shim silent;
	struct fake_shim slow;

	harness_connect(h, &silent);
	harness_shim(h, &slow, "job");
	fake_send_bytes(slow.fd, begun, sizeof(begun));
	harness_expect_refusal(h, &silent, "first frame");
	harness_expect_refusal(h, &slow, "longer");
	fake_shim_done(&silent);
	fake_shim_done(&slow);
}

static bool is_settled(void *data)
{
	struct server *server = data;

	return server->n_peers == 0;
}

SERVER_CASE(the_oldest_silent_connection_makes_way)
{
	struct fake_shim silent[UNGREETED_MAX];
	struct fake_shim shim;
	struct fake_shim extra;

	for (size_t i = 0; i < UNGREETED_MAX; i++)
		harness_connect(h, &silent[i]);
	/* The connection that has waited longest is closed. */
	harness_connect(h, &extra);
	harness_expect_refusal(h, &silent[0], "do not say");
	fake_shim_done(&silent[0]);
	harness_shim(h, &shim, "job");
	fake_shim_done(&extra);
	fake_shim_done(&shim);
	for (size_t i = 1; i < UNGREETED_MAX; i++)
		fake_shim_done(&silent[i]);
	harness_wait(h, is_settled, h->server);
}

struct keeper {
	int fd;
	unsigned dropped;
};

static bool has_let_all_go(void *data)
{
	struct keeper *keeper = data;
	char text[256];
	ssize_t n;

	while ((n = recv(keeper->fd, text, sizeof(text) - 1, MSG_DONTWAIT)) > 0) {
		text[n] = '\0';
		keeper->dropped += strstr(text, "FDSTOREREMOVE=1") != NULL;
	}
	return keeper->dropped == 300;
}

/* More at once than a datagram socket holds while its peer does not read. */
SERVER_CASE(a_busy_keeper_hears_of_every_end)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct instance_identity identity = {.pid = 1};
	struct keeper keeper = {.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/keeper", h->dir);
	assert_int_equal(bind(keeper.fd, (struct sockaddr *)&address, sizeof(address)), 0);
	setenv("NOTIFY_SOCKET", address.sun_path, 1);
	for (int i = 0; i < 300; i++) {
		identity.pid++;
		kept_drop(h->server, &identity);
	}
	harness_wait(h, has_let_all_go, &keeper);
	unsetenv("NOTIFY_SOCKET");
	unlink(address.sun_path);
	close(keeper.fd);
}

/* @ret borrows @name, which fits. */
static void be_kept(const struct fake_shim *shim, char *name, struct listen_kept *ret)
{
	int n = snprintf(name, KEPT_NAME_BYTES, KEPT_PREFIX "%u-%d-%" PRIu64 "-", getuid(),
		getpid(), fake_start_time(getpid()));

	for (size_t i = 0; i < INSTANCE_TOKEN_BYTES; i++)
		n += snprintf(
			name + n, KEPT_NAME_BYTES - (size_t)n, "%02x", shim->recorder->token[i]);
	*ret = (struct listen_kept){.fd = fcntl(shim->memfd, F_DUPFD_CLOEXEC, 0), .name = name};
}

static bool is_forgotten(void *data)
{
	(void)data;
	return fake_store.sessions->is_freed;
}

/* tests/reliability/model/recovery.pml, MISTAKE_9. */
SERVER_CASE(what_was_kept_outlives_a_session_that_cannot_be_opened)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char name[KEPT_NAME_BYTES], text[256];
	struct keeper keeper = {.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
	struct listen_kept kept;
	struct listen_sockets sockets = {.kept = &kept, .n_kept = 1};
	struct fake_shim shim;
	ssize_t n;

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/keeper", h->dir);
	assert_int_equal(bind(keeper.fd, (struct sockaddr *)&address, sizeof(address)), 0);
	setenv("NOTIFY_SOCKET", address.sun_path, 1);
	fake_shim_init(&shim, "job");
	assert_int_equal(fake_shim_keep_hello(&shim), 0);
	be_kept(&shim, name, &kept);
	fake_store.refuses_sessions = true;
	kept_resume(h->server, &sockets);
	assert_int_equal(kept.fd, -1); /* taken over */
	harness_wait(h, is_forgotten, NULL);
	while ((n = recv(keeper.fd, text, sizeof(text) - 1, MSG_DONTWAIT)) > 0) {
		text[n] = '\0';
		assert_null(strstr(text, "FDSTOREREMOVE=1"));
	}
	fake_shim_done(&shim);
	unsetenv("NOTIFY_SOCKET");
	unlink(address.sun_path);
	close(keeper.fd);
}

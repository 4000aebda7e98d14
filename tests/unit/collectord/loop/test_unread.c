/* SPDX-License-Identifier: MIT */
/* A tool that asks and does not read: what the collector holds for it, and for all connections of
 * its user. */
#include "tests/unit/collectord/loop/harness.h"

#include <event2/buffer.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collectord/loop/connections/peer.h"
#include "proto/base/limits.h"

#define LONG_BYTES (1u << 20)
#define PEERS	   (OUTPUT_UID_BYTES_MAX / OUTPUT_BYTES_MAX + 1)

static uint64_t passed_ns;

/* In libc's place: what the loop's timers go by. */
__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *ret)
{
	int r = (int)syscall(SYS_clock_gettime, id, ret);
	uint64_t ns = (uint64_t)ret->tv_nsec + passed_ns;

	ret->tv_sec += (time_t)(ns / 1000000000);
	ret->tv_nsec = (long)(ns % 1000000000);
	return r;
}

struct arrival {
	const struct server *server;
	const struct peer *before; /* the latest one then */
};

static bool has_come(void *data)
{
	const struct arrival *arrival = data;

	return arrival->server->peers != arrival->before;
}

/* The collector's end of a new connection. */
static struct peer *connect_peer(struct harness *h, struct fake_shim *shim)
{
	struct arrival arrival = {.server = h->server, .before = h->server->peers};

	harness_connect(h, shim);
	harness_wait(h, has_come, &arrival);
	return h->server->peers;
}

static size_t held(const struct peer *peer)
{
	return evbuffer_get_length(peer->output);
}

static void send_bytes(struct peer *peer, size_t bytes)
{
	Rtl__Refusal refusal = RTL__REFUSAL__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;

	refusal.has_text = 1;
	refusal.text.len = bytes;
	refusal.text.data = calloc(1, bytes);
	assert_non_null(refusal.text.data);
	frame.body_case = RTL__FRAME__BODY_REFUSAL;
	frame.refusal = &refusal;
	peer_send(peer, &frame);
	free(refusal.text.data);
}

SERVER_CASE(one_connection_is_closed)
{
	struct fake_shim shim;
	struct peer *peer = connect_peer(h, &shim);
	unsigned n = 0;

	for (; !peer->is_ended && n < 100; n++) {
		assert_in_range(held(peer), 0, OUTPUT_BYTES_MAX);
		send_bytes(peer, LONG_BYTES);
	}
	/* The socket has room for some, too. */
	assert_in_range(n, OUTPUT_BYTES_MAX / LONG_BYTES, 4 * OUTPUT_BYTES_MAX / LONG_BYTES);
	fake_shim_done(&shim);
}

SERVER_CASE(all_of_one_user_hold_no_more_than_so_much)
{
	struct fake_shim shims[PEERS], small;
	struct peer *peer = NULL;
	unsigned n = 0;
	size_t sum = 0;

	while (n < PEERS && !(peer && peer->is_ended)) {
		peer = connect_peer(h, &shims[n++]);
		/* One frame less than would close it. */
		while (!peer->is_ended && held(peer) + LONG_BYTES + 64 <= OUTPUT_BYTES_MAX) {
			assert_in_range(sum + held(peer), 0, OUTPUT_UID_BYTES_MAX);
			send_bytes(peer, LONG_BYTES);
		}
		if (!peer->is_ended)
			sum += held(peer);
	}
	assert_true(peer->is_ended); /* the last one, with less than one may have */
	assert_in_range(sum, OUTPUT_UID_BYTES_MAX / 2, OUTPUT_UID_BYTES_MAX);
	/* A page is left for each of the rest. */
	peer = connect_peer(h, &small);
	send_bytes(peer, OUTPUT_SMALL_BYTES / 2);
	assert_false(peer->is_ended);
	fake_shim_done(&small);
	while (n--)
		fake_shim_done(&shims[n]);
}

static bool is_held(void *data)
{
	return ((const struct peer *)data)->is_held;
}

/* Asks on a connection that holds more for it than the socket takes. */
static struct peer *ask_unread(struct harness *h, struct fake_shim *tool)
{
	Rtl__StatRequest request = RTL__STAT_REQUEST__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;
	struct peer *peer = connect_peer(h, tool);

	while (held(peer) < 4 * LONG_BYTES)
		send_bytes(peer, LONG_BYTES);
	frame.body_case = RTL__FRAME__BODY_STAT_REQUEST;
	frame.stat_request = &request;
	assert_int_equal(fake_send(tool->fd, &frame), 0);
	harness_wait(h, is_held, peer);
	return peer;
}

static void pass_time(struct harness *h, uint64_t ms)
{
	passed_ns += ms * 1000000;
	harness_turn(h);
	harness_turn(h);
}

/* One reply waits so long to be read, whatever of it is read meanwhile. */
SERVER_CASE(a_reply_waits_so_long)
{
	struct fake_shim reads, reads_not;
	struct peer *reader = ask_unread(h, &reads), *peer;
	Rtl__Frame *frame;

	while (reader->is_held)
		assert_int_equal(harness_receive(h, &reads, &frame), 0);
	peer = ask_unread(h, &reads_not);
	pass_time(h, UNREAD_MS_MAX - 1000);
	assert_false(peer->is_ended);
	assert_int_equal(harness_receive(h, &reads_not, &frame), 0);
	assert_true(peer->is_held);
	assert_int_equal(h->server->n_peers, 2);
	pass_time(h, 2000);
	assert_int_equal(h->server->n_peers, 1);
	assert_ptr_equal(h->server->peers, reader);
	fake_shim_done(&reads_not);
	fake_shim_done(&reads);
}

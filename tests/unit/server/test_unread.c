/* SPDX-License-Identifier: MIT */
/* Who asks and does not read: what the collector holds for him, and for all his connections. */
#include "tests/unit/server/harness.h"

#include <event2/buffer.h>
#include <stdlib.h>

#include "collectord/peer.h"
#include "proto/limits.h"

#define LONG_BYTES (1u << 20)
#define PEERS	   (OUTPUT_UID_BYTES_MAX / OUTPUT_BYTES_MAX + 1)

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

static void one_connection_is_closed(void **state)
{
	struct harness *h = *state;
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

static void all_of_one_user_hold_no_more_than_so_much(void **state)
{
	struct fake_shim shims[PEERS], small;
	struct harness *h = *state;
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

#define TEST(function) cmocka_unit_test_setup_teardown(function, harness_setup, harness_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_connection_is_closed),
		TEST(all_of_one_user_hold_no_more_than_so_much),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

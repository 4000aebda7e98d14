// SPDX-License-Identifier: MIT
/*
 * Peers that lie: valid frames and recorders with bytes changed, the same ones in every run.
 * The store may refuse or believe them, but its books stay true to its rows, and it goes on
 * serving honest peers.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectord/db/database.h"
#include "proto/recorder/checksum.h"
#include "proto/names/collectives.h"
#include "proto/names/copies.h"
#include "proto/wire/frame.h"
#include "proto/names/host_calls.h"
#include "proto/base/limits.h"
#include "tests/unit/collectord/store/harness.h"
#include "tests/unit/collectord/store/recorder.h"

#define ROUNDS 200

static uint32_t next_random(uint32_t *random)
{
	*random = *random * 1664525u + 1013904223u;
	return *random >> 8;
}

/* Changes up to eight bytes; small counts and lengths are what hurts, so small values. */
static void spoil(uint8_t *bytes, size_t count, uint32_t *random)
{
	uint32_t changes = 1 + next_random(random) % 8;

	while (changes--) {
		uint8_t *at = &bytes[next_random(random) % count];

		switch (next_random(random) % 4) {
		case 0:
			*at ^= (uint8_t)(1u << next_random(random) % 8);
			break;
		case 1:
			*at = 0xff;
			break;
		case 2:
			*at = (uint8_t)(next_random(random) % 16);
			break;
		default:
			*at = (uint8_t)next_random(random);
		}
	}
}

#define EVENTS 8u

/* Columns that any record may have: what is not looked at is not sent. */
struct columns {
	uint32_t kind[EVENTS], tid[EVENTS], zero[EVENTS], text[EVENTS];
	int32_t host[EVENTS];
	uint64_t id[EVENTS], none[EVENTS], time_ns[EVENTS];
	uint64_t words[EVENTS * HOST_ARGS_MAX];
};

static void fill_columns(struct columns *c, uint64_t number)
{
	*c = (struct columns){0};
	for (uint32_t i = 0; i < EVENTS; i++) {
		c->tid[i] = 77;
		c->host[i] = RTL_COPY_PLACE_HOST;
		c->id[i] = number * EVENTS + i + 1;
		c->time_ns[i] = PEER_ZERO_NS + c->id[i];
	}
	for (uint32_t i = 0; i < EVENTS * HOST_ARGS_MAX; i++)
		c->words[i] = i * 0x2122232425262728u;
}

static void add_markers(struct frames *f, uint64_t number)
{
	ProtobufCBinaryData text = {10, (uint8_t *)(uintptr_t) "loss=1.5 x"}, texts[EVENTS];
	Rtl__Frame frame = RTL__FRAME__INIT;
	Rtl__Markers m = RTL__MARKERS__INIT;
	struct columns c;

	fill_columns(&c, number);
	for (uint32_t i = 0; i < EVENTS; i++) {
		c.kind[i] = 1 + i % (RTL_MARKER_KINDS - 1);
		c.text[i] = RTL_MARKER_TEXT_INLINE;
		texts[i] = text;
	}
	m.has_n = 1;
	m.n = EVENTS;
	m.n_kind = m.n_id = m.n_parent = m.n_tid = m.n_time_ns = m.n_text = EVENTS;
	m.kind = c.kind;
	m.id = c.id;
	m.parent = c.none;
	m.tid = c.tid;
	m.time_ns = c.time_ns;
	m.text = c.text;
	m.n_inline_text = EVENTS;
	m.inline_text = texts;
	frame.has_number = 1;
	frame.number = number;
	frame.body_case = RTL__FRAME__BODY_MARKERS;
	frame.markers = &m;
	frames_add(f, &frame);
}

static void add_host_calls(struct frames *f, uint64_t number)
{
	Rtl__Frame frame = RTL__FRAME__INIT;
	Rtl__HostCalls h = RTL__HOST_CALLS__INIT;
	struct columns c;

	fill_columns(&c, number);
	h.has_n = 1;
	h.n = EVENTS;
	for (uint32_t i = 0; i < EVENTS; i++) {
		c.kind[i] = ((uint32_t)number * 37 + i * 17) % RTL_HOST_COUNT;
		c.text[i] = host_call_info[c.kind[i]].words;
		h.n_arg += c.text[i];
	}
	h.n_api = h.n_id = h.n_parent = h.n_tid = h.n_start_ns = h.n_duration_ns = h.n_marker =
		h.n_result = h.n_stream = h.n_arg_count = EVENTS;
	h.api = c.kind;
	h.id = c.id;
	h.parent = h.duration_ns = h.marker = h.stream = c.none;
	h.tid = c.tid;
	h.start_ns = c.time_ns;
	h.result = c.host;
	h.arg_count = c.text;
	h.arg = c.words;
	frame.has_number = 1;
	frame.number = number;
	frame.body_case = RTL__FRAME__BODY_HOST_CALLS;
	frame.host_calls = &h;
	frames_add(f, &frame);
}

static void add_collectives(struct frames *f, uint64_t number)
{
	Rtl__Frame frame = RTL__FRAME__INIT;
	Rtl__Collectives o = RTL__COLLECTIVES__INIT;
	struct columns c;

	fill_columns(&c, number);
	for (uint32_t i = 0; i < EVENTS; i++)
		c.kind[i] = i;
	o.has_n = 1;
	o.n = EVENTS;
	o.n_op = o.n_id = o.n_parent = o.n_tid = o.n_start_ns = o.n_duration_ns = o.n_marker =
		o.n_result = o.n_stream = o.n_count = o.n_bytes = o.n_datatype = o.n_reduction =
			o.n_comm = o.n_comm_rank = o.n_comm_size = o.n_seq = o.n_peer = o.n_group =
				EVENTS;
	o.op = o.datatype = c.kind;
	o.id = o.comm = c.id;
	o.parent = o.duration_ns = o.marker = o.stream = o.count = o.bytes = o.seq = o.group =
		c.none;
	o.tid = o.comm_size = c.tid;
	o.start_ns = c.time_ns;
	o.result = o.peer = c.host;
	o.reduction = o.comm_rank = c.zero;
	frame.has_number = 1;
	frame.number = number;
	frame.body_case = RTL__FRAME__BODY_COLLECTIVES;
	frame.collectives = &o;
	frames_add(f, &frame);
}

static void add_copies(struct frames *f, uint64_t number)
{
	Rtl__Frame frame = RTL__FRAME__INIT;
	Rtl__Copies o = RTL__COPIES__INIT;
	struct columns c;

	fill_columns(&c, number);
	for (uint32_t i = 0; i < EVENTS; i++)
		c.kind[i] = 1 + i % (RTL_COPY_HOW_COUNT - 1);
	o.has_n = 1;
	o.n = EVENTS;
	o.n_how = o.n_id = o.n_call = o.n_tid = o.n_submit_ns = o.n_marker = o.n_bytes =
		o.n_direction = o.n_source = o.n_target = o.n_engine = o.n_start_ns =
			o.n_duration_ns = EVENTS;
	o.how = c.kind;
	o.id = c.id;
	o.call = o.marker = o.bytes = o.duration_ns = c.none;
	o.tid = c.tid;
	o.submit_ns = o.start_ns = c.time_ns;
	o.direction = o.engine = c.zero;
	o.source = o.target = c.host;
	frame.has_number = 1;
	frame.number = number;
	frame.body_case = RTL__FRAME__BODY_COPIES;
	frame.copies = &o;
	frames_add(f, &frame);
}

static void add_everything(struct frames *f)
{
	peer_add_defines(f);
	peer_add_anchors(f, 1000000);
	peer_add_dispatches(f, 1, 1, 0, 40);
	peer_add_counters(f, 0, RTL_Q_dispatched, 100, RTL_Q_dropped_recorder_full, 3, -1);
	peer_add_dispatches(f, 2, 2, 0, 40);
	peer_add_kernel(f, 3, "_Z3addPfS_.kd", 13);
	peer_add_dispatches(f, 3, 3, 40, 5);
	add_markers(f, 4);
	add_host_calls(f, 5);
	add_collectives(f, 6);
	add_copies(f, 7);
}

/* A length that lies would only cut the stream: it is the frames that are to be spoilt. */
static void spoil_frames(struct frames *f, uint32_t *random)
{
	size_t at = 0;

	while (at < f->count) {
		uint32_t bytes = frame_get_length(f->bytes + at);

		at += FRAME_PREFIX_BYTES;
		if (next_random(random) % 3 == 0)
			spoil(f->bytes + at, bytes, random);
		at += bytes;
	}
}

static struct hand_recorder *spoilt_recorder(uint8_t token, uint32_t *random)
{
	struct hand_recorder *r = hand_recorder_new(token);
	struct frames f = {0};
	struct recorder_cell *cell;

	for (uint64_t number = 1; number <= 4; number++) {
		peer_add_dispatches(&f, number, 1, number * 40, 20);
		cell = hand_recorder_cell(r, number, &f, 20);
		/* Spoilt before it was published: the checksum is right, the frame is not. */
		if (next_random(random) % 2) {
			spoil((uint8_t *)(cell + 1) + FRAME_PREFIX_BYTES,
				cell->length - FRAME_PREFIX_BYTES, random);
			cell->checksum = checksum32(cell + 1, cell->length, number);
		}
	}
	for (unsigned i = 0; i < HAND_SLOTS; i++)
		hand_recorder_slot(r, i, i % 3, 300 + i, i % 7);
	for (unsigned i = 0; i < HAND_MARKERS; i++)
		hand_recorder_marker(r, i, i + 1, i, "mark")->kind = (uint16_t)(i + 1);
	for (unsigned i = 0; i < HAND_CALLS; i++)
		r->call[i] = (struct recorder_call){.event.turn = 1,
			.id = 900 + i,
			.api = 1,
			.kind = (uint8_t)(RECORDER_CALL_HOST + i),
			.start_ns = PEER_ZERO_NS,
			.end_ns = PEER_ZERO_NS + 10};
	r->queue[0].producer[RTL_Q_dispatched] = 400;
	spoil((uint8_t *)r->marker, sizeof(r->marker), random);
	spoil((uint8_t *)r->call, sizeof(r->call), random);
	spoil((uint8_t *)r->slot, sizeof(r->slot), random);
	spoil((uint8_t *)r->queue, sizeof(r->queue), random);
	spoil((uint8_t *)r->anchors, sizeof(r->anchors), random);
	spoil(r->define, (size_t)r->header.define_bytes, random);
	if (next_random(random) % 2)
		spoil((uint8_t *)&r->header, sizeof(r->header), random);
	return r;
}

/* Until the last answer of this process. */
static void wait_for_end(struct harness *h)
{
	struct pollfd poller = {.fd = store_answer_fd(h->store), .events = POLLIN};

	for (;;) {
		store_answer_done(&h->answer);
		if (!store_next_answer(h->store, &h->answer)) {
			memset(&h->answer, 0, sizeof(h->answer));
			assert_int_equal(poll(&poller, 1, HARNESS_WAIT_MS), 1);
			continue;
		}
		if (h->answer.kind == STORE_DEGRADED)
			fail_msg("degraded: %s", h->answer.text);
		if (h->answer.kind == STORE_PROCESS_ENDED || h->answer.kind == STORE_PROCESS_FAILED)
			return;
	}
}

static void one_liar(struct harness *h, uint8_t token, uint32_t random)
{
	struct hand_recorder *r;
	struct frames f = {0};
	size_t count;
	uint8_t *hello = peer_hello(token, token, &count);

	if (next_random(&random) % 4 == 0)
		spoil(hello, count, &random);
	assert_int_equal(store_process_open(h->session, hello, count, getuid(), 1000 + token, 4242,
				 h, &h->process),
		0);
	for (int connection = 0; connection < 3; connection++) {
		add_everything(&f);
		spoil_frames(&f, &random);
		harness_send(h, &f);
		assert_int_equal(store_process_reopen(h->process), 0);
	}
	r = spoilt_recorder(token, &random);
	assert_int_equal(store_process_end(h->process, hand_recorder_memfd(r),
				 token % 5 ? STORE_ENDED_KILLED : STORE_ENDED_DETACHED, -1),
		0);
	free(r);
	wait_for_end(h);
}

static void check_truth(struct harness *h)
{
	static const char *const none[] = {
		"SELECT count(*) FROM rtl_account WHERE pending < 0 OR dispatched <> skipped + "
		"timed + untimed + outstanding + dropped + torn + pending",
		"SELECT count(*) FROM rtl_queue q WHERE stored <> (SELECT count(*) FROM rocpd_op o "
		"WHERE o.process_id = q.process_id AND o.queueId = q.queueId)",
		"SELECT count(*) FROM rocpd_op WHERE (start IS NULL) <> (reason IS NOT NULL)",
		"SELECT count(*) FROM rocpd_op WHERE typeof(start) NOT IN ('integer', 'null') OR "
		"start < 0 OR \"end\" < start OR sequenceId < 0",
		"SELECT count(*) FROM rocpd_op o LEFT JOIN rtl_kernel k ON k.id = o.description_id "
		"WHERE k.id IS NULL",
		"SELECT count(*) FROM rtl_host_call WHERE NOT json_valid(coalesce(arguments, "
		"'{}')) OR end_ns < "
		"start_ns OR start_ns < 0 OR correlation_id < 1",
		"SELECT count(*) FROM rtl_call_base WHERE id >> 40 <> process_id",
		"SELECT count(*) FROM rtl_copy WHERE end_ns < start_ns OR bytes < 0",
		"SELECT count(*) FROM rtl_metric WHERE typeof(value) <> 'real'",
		"SELECT (SELECT count(*) FROM rtl_marker_base WHERE text_id IS NOT NULL) - (SELECT "
		"count(*) FROM rtl_marker WHERE text IS NOT NULL)",
	};

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (sql_number(h->path, none[i]))
			fail_msg("not 0: %s", none[i]);
	assert_text(h->path, "PRAGMA integrity_check", "ok");
}

STORE_CASE(liars_harm_only_themselves)
{
	struct frames f = {0};

	harness_open_session(h, STORE_NEW);
	for (uint32_t round = 1; round <= ROUNDS; round++)
		one_liar(h, (uint8_t)round, round * 2654435761u);
	check_truth(h);
	/* And an honest one among them. */
	harness_open_process(h, 250, 0);
	peer_add_defines(&f);
	peer_add_anchors(&f, 1000000);
	peer_add_dispatches(&f, 1, 1, 0, 100);
	harness_send(h, &f);
	harness_wait_commit(h, 1);
	assert_number(h->path,
		"SELECT count(*) FROM rocpd_op WHERE process_id = (SELECT max(id) FROM "
		"rtl_process)",
		100);
	/* Some of it was believed, some refused: else the test tests nothing. */
	assert_true(sql_number(h->path, "SELECT count(*) FROM rocpd_op") > 2000);
	assert_true(sql_number(h->path, "SELECT sum(count) FROM rtl_loss WHERE "
					"reason = 'corrupt_frames'") > 20);
	assert_true(sql_number(h->path, "SELECT count(*) FROM rtl_loss WHERE "
					"reason = 'bad_recorder'") > 5);
	assert_true(sql_number(h->path, "SELECT count(*) FROM rtl_host_call") > 400);
	assert_true(sql_number(h->path, "SELECT count(*) FROM rtl_collective") > 200);
	assert_true(sql_number(h->path, "SELECT count(*) FROM rtl_copy") > 200);
	assert_true(sql_number(h->path, "SELECT count(*) FROM rtl_marker") > 200);
	assert_true(sql_number(h->path, "SELECT count(*) FROM rtl_metric") > 20);
}

/* What a file's schema and values may do to the collector. */
STORE_CASE(databases_are_held_short)
{
	sqlite3 *db = NULL;
	char *text = NULL;
	bool is_cut;
	int on = -1;

	harness_open(h);
	harness_close(h);
	assert_int_equal(database_open(h->path, NULL, &is_cut, &db), 0);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, -1, &on);
	assert_int_equal(on, 1);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, -1, &on);
	assert_int_equal(on, 0);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, -1, &on);
	assert_int_equal(on, 0);
	assert_int_equal(sqlite3_limit(db, SQLITE_LIMIT_LENGTH, -1), STORE_VALUE_BYTES_MAX);
	assert_int_equal(
		sqlite3_exec(db, "SELECT hex(zeroblob(600000))", NULL, NULL, &text), SQLITE_TOOBIG);
	sqlite3_free(text);
	database_close(db);
}

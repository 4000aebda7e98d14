// SPDX-License-Identifier: MIT
/* Copies from their frames to their rows: times come later, nonsense is refused whole. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/names/copies.h"
#include "proto/wire/frame.h"
#include "proto/base/limits.h"
#include "proto/wire/msg.h"
#include "tests/unit/collectord/store/harness.h"

#define N 3

/* Columns of N copies: h2d to GPU 0, p2p from 0 to 1 under a range and a call, and one unknown. */
struct sample {
	uint32_t how[N], tid[N], direction[N], engine[N];
	uint64_t id[N], call[N], submit[N], marker[N], bytes[N], start[N], duration[N];
	int32_t source[N], target[N];
	Rtl__Copies copies;
	Rtl__Frame frame;
};

static void sample_init(struct sample *s, uint64_t number)
{
	*s = (struct sample){
		.how = {RTL_COPY_ASYNC, RTL_COPY_ON_ENGINE, RTL_COPY_RECT},
		.tid = {7, 7, 8},
		.direction = {RTL_COPY_H2D, RTL_COPY_P2P, RTL_COPY_UNKNOWN},
		.engine = {0, 4, 0},
		.id = {1, 2, 3},
		.call = {0, 9, 0},
		.submit = {1000, 2000, 3000},
		.marker = {0, 5, 0},
		.bytes = {4096, 1ull << 40, 12},
		.source = {RTL_COPY_PLACE_HOST, 0, RTL_COPY_PLACE_UNKNOWN},
		.target = {0, 1, RTL_COPY_PLACE_UNKNOWN},
	};
	rtl__copies__init(&s->copies);
	rtl__frame__init(&s->frame);
	s->copies.has_n = 1;
	s->copies.n = N;
	s->copies.n_how = s->copies.n_id = s->copies.n_call = s->copies.n_tid = N;
	s->copies.n_submit_ns = s->copies.n_marker = s->copies.n_bytes = N;
	s->copies.n_direction = s->copies.n_source = s->copies.n_target = N;
	s->copies.n_engine = s->copies.n_start_ns = s->copies.n_duration_ns = N;
	s->copies.how = s->how;
	s->copies.id = s->id;
	s->copies.call = s->call;
	s->copies.tid = s->tid;
	s->copies.submit_ns = s->submit;
	s->copies.marker = s->marker;
	s->copies.bytes = s->bytes;
	s->copies.direction = s->direction;
	s->copies.source = s->source;
	s->copies.target = s->target;
	s->copies.engine = s->engine;
	s->copies.start_ns = s->start;
	s->copies.duration_ns = s->duration;
	s->frame.has_number = 1;
	s->frame.number = number;
	s->frame.body_case = RTL__FRAME__BODY_COPIES;
	s->frame.copies = &s->copies;
}

static void add_times(struct frames *f, uint64_t number, uint64_t id, uint64_t start, uint64_t ns)
{
	struct sample s;

	sample_init(&s, number);
	memset(&s, 0, offsetof(struct sample, copies));
	s.copies.n = s.copies.n_how = s.copies.n_id = s.copies.n_call = s.copies.n_tid = 1;
	s.copies.n_submit_ns = s.copies.n_marker = s.copies.n_bytes = 1;
	s.copies.n_direction = s.copies.n_source = s.copies.n_target = s.copies.n_engine = 1;
	s.copies.n_start_ns = s.copies.n_duration_ns = 1;
	s.how[0] = RTL_COPY_TIMES;
	s.id[0] = id;
	s.start[0] = start;
	s.duration[0] = ns;
	frames_add(f, &s.frame);
}

static int verdict(const Rtl__Frame *sent)
{
	struct msg_arena arena;
	Rtl__Frame *frame;
	size_t bytes;
	uint8_t *packed = msg_pack_new(sent, &bytes);
	int r;

	assert_non_null(packed);
	msg_arena_init(&arena, ARENA_BYTES_MAX);
	r = msg_unpack(&arena, packed + FRAME_PREFIX_BYTES, bytes - FRAME_PREFIX_BYTES, &frame);
	msg_arena_done(&arena);
	free(packed);
	return r;
}

TEST_CASE(every_column_must_have_n_entries)
{
	static const size_t counts[] = {
		offsetof(Rtl__Copies, n_how),
		offsetof(Rtl__Copies, n_id),
		offsetof(Rtl__Copies, n_call),
		offsetof(Rtl__Copies, n_tid),
		offsetof(Rtl__Copies, n_submit_ns),
		offsetof(Rtl__Copies, n_marker),
		offsetof(Rtl__Copies, n_bytes),
		offsetof(Rtl__Copies, n_direction),
		offsetof(Rtl__Copies, n_source),
		offsetof(Rtl__Copies, n_target),
		offsetof(Rtl__Copies, n_engine),
		offsetof(Rtl__Copies, n_start_ns),
		offsetof(Rtl__Copies, n_duration_ns),
	};
	struct sample s;

	sample_init(&s, 1);
	assert_int_equal(verdict(&s.frame), 0);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		size_t *count;

		sample_init(&s, 1);
		count = (size_t *)(void *)((char *)&s.copies + counts[i]);
		(*count)--;
		assert_int_equal(verdict(&s.frame), -EINVAL);
	}
	sample_init(&s, 1);
	s.frame.has_number = 0;
	assert_int_equal(verdict(&s.frame), -EINVAL);
}

TEST_CASE(values_without_a_name_are_refused)
{
	struct sample s;

	sample_init(&s, 1);
	s.how[0] = 0;
	assert_int_equal(verdict(&s.frame), -EINVAL);
	s.how[0] = RTL_COPY_HOW_COUNT;
	assert_int_equal(verdict(&s.frame), -EINVAL);
	sample_init(&s, 1);
	s.direction[2] = RTL_COPY_DIRECTION_COUNT;
	assert_int_equal(verdict(&s.frame), -EINVAL);
}

TEST_CASE(the_direction_follows_from_the_places)
{
	assert_int_equal(rtl_copy_direction_between(RTL_COPY_PLACE_HOST, 3), RTL_COPY_H2D);
	assert_int_equal(rtl_copy_direction_between(3, RTL_COPY_PLACE_HOST), RTL_COPY_D2H);
	assert_int_equal(rtl_copy_direction_between(3, 3), RTL_COPY_D2D);
	assert_int_equal(rtl_copy_direction_between(3, 2), RTL_COPY_P2P);
	assert_int_equal(
		rtl_copy_direction_between(RTL_COPY_PLACE_HOST, RTL_COPY_PLACE_HOST), RTL_COPY_H2H);
	assert_int_equal(rtl_copy_direction_between(RTL_COPY_PLACE_UNKNOWN, 0), RTL_COPY_UNKNOWN);
	assert_int_equal(rtl_copy_direction_between(0, RTL_COPY_PLACE_UNKNOWN), RTL_COPY_UNKNOWN);
}

static const char every_column[] =
	"SELECT group_concat(copyId || ' ' || submit_ns || ' ' || coalesce(start_ns, '-') || ' ' "
	"|| "
	"coalesce(end_ns, '-') || ' ' || bytes || ' ' || direction || ' ' || "
	"coalesce(source_gpuId, '-') || ' ' || coalesce(target_gpuId, '-') || ' ' || how || ' ' || "
	"coalesce(engine, '-') || ' ' || tid || ' ' || coalesce(roctxId, '-') || ' ' || "
	"coalesce(correlation_id, '-') || ' ' || rank, '; ') FROM rtl_copy ORDER BY copyId";

STORE_CASE(a_row_says_what_was_sent_and_times_come_later)
{
	struct frames f = {0};
	struct sample s;

	harness_open(h);
	sample_init(&s, 1);
	frames_add(&f, &s.frame);
	harness_send(h, &f);
	harness_wait_commit(h, 1);
	assert_text(h->path, every_column,
		"1 1000 - - 4096 h2d - 3 async - 7 - - 0; 2 2000 - - 1099511627776 p2p 3 4 "
		"on_engine 4 7 5 9 0; 3 3000 - - 12 unknown - - rect - 8 - - 0");
	add_times(&f, 2, 2, 2100, 50);
	/* Of a copy that was dropped: nothing to set. */
	add_times(&f, 3, 77, 2100, 50);
	harness_send(h, &f);
	harness_wait_commit(h, 3);
	assert_text(h->path,
		"SELECT group_concat(copyId || ' ' || start_ns || ' ' || end_ns) FROM rtl_copy "
		"WHERE start_ns",
		"2 2100 2150");
	assert_number(h->path, "SELECT count(*) FROM rtl_copy", N);
}

static void check_refused(struct harness *h, struct frames *f, const char *words)
{
	harness_send(h, f);
	harness_wait(h, STORE_BAD_FRAME);
	assert_non_null(strstr(h->answer.text, words));
	assert_number(h->path, "SELECT count(*) FROM rtl_copy", 0);
}

STORE_CASE(a_gpu_that_is_not_there_is_refused)
{
	struct frames f = {0};
	struct sample s;

	harness_open(h);
	sample_init(&s, 1);
	s.target[2] = 2;
	frames_add(&f, &s.frame);
	check_refused(h, &f, "a copy is out of range");
}

STORE_CASE(times_that_overflow_are_refused)
{
	struct frames f = {0};

	harness_open(h);
	add_times(&f, 1, 1, INT64_MAX, 1);
	check_refused(h, &f, "a copy is out of range");
}

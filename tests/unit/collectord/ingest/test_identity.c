// SPDX-License-Identifier: MIT
/*
 * Processes whose streams are alike to the last id: numbers of dispatches, ranges, host calls and
 * copies, frames, even the pid. Whatever joins on such an id stays within one process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/names/copies.h"
#include "proto/names/host_calls.h"
#include "tests/unit/collectord/store/harness.h"

#define N    8u
#define CALL 5u

/* All of the same process; what tells one from the other is the kernel's name, the range's text
 * and the bytes of the copies: of process @process. */
static void add_kernel(struct frames *f, unsigned process)
{
	char name[32];

	snprintf(name, sizeof(name), "kernel%u.kd", process);
	peer_add_kernel(f, 1, name, strlen(name));
	peer_add_anchors(f, 1000000);
}

static void add_call(struct frames *f, uint64_t number, unsigned process)
{
	Rtl__Frame frame = RTL__FRAME__INIT;
	Rtl__HostCalls c = RTL__HOST_CALLS__INIT;
	uint32_t api = 0, tid = 77, words = host_call_info[0].words;
	uint64_t id = CALL, parent = 0, start_ns = PEER_ZERO_NS, ns = 10, marker = 1,
		 stream = process;
	uint64_t arg[64] = {0};
	int32_t result = 0;

	c.has_n = 1;
	c.n = c.n_api = c.n_id = c.n_parent = c.n_tid = c.n_start_ns = c.n_duration_ns = 1;
	c.n_marker = c.n_result = c.n_stream = c.n_arg_count = 1;
	c.n_arg = words;
	c.api = &api;
	c.id = &id;
	c.parent = &parent;
	c.tid = &tid;
	c.start_ns = &start_ns;
	c.duration_ns = &ns;
	c.marker = &marker;
	c.result = &result;
	c.stream = &stream;
	c.arg_count = &words;
	c.arg = arg;
	frame.has_number = 1;
	frame.number = number;
	frame.body_case = RTL__FRAME__BODY_HOST_CALLS;
	frame.host_calls = &c;
	frames_add(f, &frame);
}

static void add_copy(struct frames *f, uint64_t number, unsigned process)
{
	Rtl__Frame frame = RTL__FRAME__INIT;
	Rtl__Copies c = RTL__COPIES__INIT;
	uint32_t how = RTL_COPY_ASYNC, tid = 77, direction = RTL_COPY_H2D, engine = 0;
	uint64_t id = 1, call = CALL, submit_ns = PEER_ZERO_NS, marker = 1, bytes = process,
		 zero = 0;
	int32_t source = RTL_COPY_PLACE_HOST, target = 0;

	c.has_n = 1;
	c.n = c.n_how = c.n_id = c.n_call = c.n_tid = c.n_submit_ns = c.n_marker = 1;
	c.n_bytes = c.n_direction = c.n_source = c.n_target = c.n_engine = 1;
	c.n_start_ns = c.n_duration_ns = 1;
	c.how = &how;
	c.id = &id;
	c.call = &call;
	c.tid = &tid;
	c.submit_ns = &submit_ns;
	c.marker = &marker;
	c.bytes = &bytes;
	c.direction = &direction;
	c.source = &source;
	c.target = &target;
	c.engine = &engine;
	c.start_ns = c.duration_ns = &zero;
	frame.has_number = 1;
	frame.number = number;
	frame.body_case = RTL__FRAME__BODY_COPIES;
	frame.copies = &c;
	frames_add(f, &frame);
}

static void add_dispatches(struct frames *f, uint64_t number)
{
	Rtl__Frame frame = RTL__FRAME__INIT;
	Rtl__Dispatches d = RTL__DISPATCHES__INIT;
	uint32_t shape[N], duration[N], from = 0, tid = 77, node = 0;
	uint64_t start[N], marker = 1, call = CALL;
	int32_t submit[N] = {0};
	int64_t seq[N] = {0};

	for (unsigned i = 0; i < N; i++) {
		shape[i] = 1;
		duration[i] = 50;
		start[i] = 1000 + 100 * i;
	}
	d.has_n = d.has_submit_base_ns = 1;
	d.n = d.n_shape = d.n_seq = d.n_start_tick = d.n_duration_ticks = d.n_submit_delta_ns = N;
	d.submit_base_ns = PEER_ZERO_NS;
	d.shape = shape;
	d.seq = seq;
	d.start_tick = start;
	d.duration_ticks = duration;
	d.submit_delta_ns = submit;
	d.n_tid = d.n_tid_from = d.n_marker = d.n_marker_from = 1;
	d.n_call = d.n_call_from = d.n_node = 1;
	d.tid_from = d.marker_from = d.call_from = &from;
	d.tid = &tid;
	d.marker = &marker;
	d.call = &call;
	d.node = &node;
	frame.has_number = 1;
	frame.number = number;
	frame.body_case = RTL__FRAME__BODY_DISPATCHES;
	frame.dispatches = &d;
	frames_add(f, &frame);
}

static void send_all(struct harness *h, unsigned process)
{
	struct frames f = {0};

	add_kernel(&f, process);
	peer_add_marker(&f, 1, RTL_MARKER_BEGIN_PUSH);
	add_call(&f, 2, process);
	add_copy(&f, 3, process);
	add_dispatches(&f, 4);
	harness_send(h, &f);
	harness_wait_commit(h, 4);
}

/* Every row of @from that is joined so has exactly one partner, and that says the same of @key. */
static void check_edges(struct harness *h, const char *from, const char *join, const char *key)
{
	char sql[512];
	int64_t rows;

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", from);
	rows = sql_number(h->path, sql);
	assert_true(rows > 0);
	snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s %s", from, join);
	assert_number(h->path, sql, rows);
	snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s %s WHERE NOT (%s)", from, join, key);
	assert_number(h->path, sql, 0);
}

/* @processes of them, numbered from 1 as rtl_process has them. */
static void check_apart(struct harness *h, unsigned processes)
{
	assert_number(h->path, "SELECT count(*) FROM rocpd_op", processes * N);
	check_edges(h, "rocpd_op o", "JOIN rtl_kernel k ON k.id = o.description_id",
		"k.name = 'kernel' || o.process_id");
	check_edges(h, "rocpd_op o", "JOIN rtl_marker m USING (process_id, roctxId)",
		"m.text = 'kernel' || o.process_id || '.kd' AND m.rank IS o.rank");
	check_edges(h, "rocpd_op o", "JOIN rocpd_api a ON a.id = o.api_id",
		"a.process_id = o.process_id AND a.rank IS o.rank");
	check_edges(h, "rocpd_op o", "JOIN rtl_host_call c USING (process_id, correlation_id)",
		"c.stream = o.process_id AND c.id = o.api_id");
	check_edges(h, "rtl_host_call c", "JOIN rtl_marker m USING (process_id, roctxId)",
		"m.text = 'kernel' || c.process_id || '.kd'");
	check_edges(h, "rtl_copy y", "JOIN rtl_host_call c USING (process_id, correlation_id)",
		"c.stream = y.process_id AND y.bytes = y.process_id");
	check_edges(h, "rtl_copy y", "JOIN rtl_marker m USING (process_id, roctxId)",
		"m.rank IS y.rank AND m.text = 'kernel' || y.process_id || '.kd'");
	harness_check_books(h->path);
}

STORE_CASE(two_ranks_with_the_same_ids_stay_apart)
{
	harness_open_session(h, STORE_NEW);
	for (unsigned process = 1; process <= 2; process++) {
		harness_open_process(h, (uint8_t)process, (int)process - 1);
		send_all(h, process);
	}
	check_apart(h, 2);
	assert_text(h->path, "SELECT group_concat(DISTINCT rank) FROM rocpd_op", "0,1");
}

/* Opens a process with the pid and start time that the kernel reports, and with the shim's
 * token. */
static void open_as(struct harness *h, uint8_t token, pid_t pid, uint64_t start_time)
{
	size_t count;
	uint8_t *hello = peer_hello(token, 0, &count);

	assert_int_equal(store_process_open(h->session, hello, count, getuid(), pid, start_time, h,
				 &h->process),
		0);
	harness_wait(h, STORE_PROCESS_OPENED);
}

static void end(struct harness *h, enum store_ended how)
{
	assert_int_equal(store_process_end(h->process, -1, how, 0), 0);
	harness_wait(h, STORE_PROCESS_ENDED);
}

/* The second one has the pid of the first, and its rank; the third even began with it: exec. */
STORE_CASE(a_pid_used_again_is_another_process)
{
	harness_open_session(h, STORE_NEW);
	open_as(h, 1, 1234, 4242);
	send_all(h, 1);
	end(h, STORE_ENDED_EXITED);
	open_as(h, 2, 1234, 9999);
	send_all(h, 2);
	end(h, STORE_ENDED_EXEC);
	open_as(h, 3, 1234, 9999);
	send_all(h, 3);
	check_apart(h, 3);
	assert_number(h->path, "SELECT count(DISTINCT pid) FROM rtl_process", 1);
	assert_text(h->path,
		"SELECT group_concat(coalesce(ended, 'lives')) FROM (SELECT * FROM rtl_process "
		"ORDER BY id)",
		"exited,exec,lives");
}

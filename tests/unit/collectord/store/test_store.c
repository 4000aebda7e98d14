// SPDX-License-Identifier: MIT
#include <poll.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/wire/frame.h"
#include "proto/base/limits.h"
#include "proto/wire/msg.h"
#include "tests/unit/collectord/store/harness.h"

STORE_CASE(rows_are_there_before_the_ack)
{
	struct frames f = {0};

	harness_open(h);
	assert_int_equal(h->answer.frame, 0);
	peer_add_defines(&f);
	peer_add_anchors(&f, 1000000);
	peer_add_dispatches(&f, 1, 1, 0, 100);
	peer_add_dispatches(&f, 2, 2, 0, 50);
	harness_send(h, &f);
	harness_wait_commit(h, 2);
	assert_number(h->path, "SELECT count(*) FROM rocpd_op", 150);
	assert_number(h->path, "SELECT hw_frame FROM rtl_process", 2);
	assert_number(h->path, "SELECT value FROM rtl_meta WHERE key='complete'", 0);
	harness_check_books(h->path);
}

STORE_CASE(a_row_says_what_was_sent)
{
	struct frames f = {0};
	char want[128];

	harness_open_timed(h, &f);
	peer_add_dispatches(&f, 1, 2, 7, 1);
	harness_send(h, &f);
	harness_wait_commit(h, 1);
	snprintf(want, sizeof(want), "4|1|7|%llu|%llu|%llu|77|0|64|1|1|128|2|1",
		PEER_ZERO_NS + 1700 * 10ull, PEER_ZERO_NS + 1750 * 10ull,
		PEER_ZERO_NS + 1700 * 10ull - 500);
	assert_text(h->path,
		"SELECT concat_ws FROM (SELECT gpuId || '|' || queueId || '|' || sequenceId || '|' "
		"|| start || '|' || \"end\" || '|' || submit_ns || '|' || tid || '|' || rank || "
		"'|' || workgroupX || '|' || workgroupY || '|' || workgroupZ || '|' || gridX || "
		"'|' || gridY || '|' || gridZ AS concat_ws FROM rocpd_op)",
		want);
	assert_text(h->path,
		"SELECT s.string FROM rocpd_op o JOIN rocpd_string s ON s.id = o.description_id",
		"beta");
	assert_text(h->path, "SELECT symbol FROM rtl_kernel", "beta.kd");
	assert_text(h->path, "SELECT bdf FROM rtl_gpu WHERE gpuId = 4", "0000:43:01.0");
}

STORE_CASE(views_keep_the_contract)
{
	harness_open(h);
	assert_text(h->path, "SELECT group_concat(name) FROM pragma_table_info('rocpd_op')",
		"id,gpuId,queueId,sequenceId,completionSignal,start,end,description_id,opType_id,"
		"roctxId,rank,process_id,submit_ns,tid,workgroupX,workgroupY,workgroupZ,gridX,"
		"gridY,gridZ,correlation_id,api_id,node_id,reason,graph_exec,graph_launch,graph_"
		"node,stream");
	assert_text(h->path, "SELECT group_concat(name) FROM pragma_table_info('top')",
		"Name,Calls,TotalNs,AvgNs,MinNs,MaxNs,Pct");
	assert_text(h->path, "SELECT group_concat(name) FROM pragma_table_info('busy')",
		"gpuId,utilization_pct,ops,busy_ns,wall_ns");
	/* Programs that make databases fill whole rows of these, without the names of the columns.
	 */
	assert_number(h->path, "SELECT count(*) FROM pragma_table_info('rtl_session')", 10);
	assert_number(h->path, "SELECT count(*) FROM pragma_table_info('rtl_call_base')", 13);
	assert_number(h->path, "SELECT count(*) FROM pragma_table_info('rtl_collective_base')", 12);
	assert_number(h->path, "SELECT count(*) FROM pragma_table_info('rtl_metric_base')", 7);
	assert_text(h->path, "PRAGMA journal_mode", "wal");
	assert_number(h->path, "PRAGMA page_size", 32768);
	assert_number(h->path, "SELECT count(*) FROM rtl_untimed_reason", RTL_UNTIMED_COUNT - 1);
}

STORE_CASE(dispatches_name_their_calls)
{
	struct frames f = {0};
	Rtl__Dispatches calls = RTL__DISPATCHES__INIT;
	uint32_t from[] = {1, 3, 6, 7}, node[] = {0, 5, UINT32_MAX, 0};
	uint64_t call[] = {8, 9, 9, 0};

	harness_open_timed(h, &f);
	calls.n_call_from = calls.n_call = calls.n_node = 4;
	calls.call_from = from;
	calls.call = call;
	calls.node = node;
	peer_add_called(&f, 1, 0, 8, &calls);
	harness_send(h, &f);
	harness_wait_commit(h, 1);
	assert_text(h->path,
		"SELECT group_concat(ifnull(call, '') || '.' || ifnull(node, '')) FROM "
		"rtl_dispatch",
		".,8.0,8.1,9.5,9.6,9.7,9.,.");
	assert_number(h->path,
		"SELECT count(*) FROM rocpd_op WHERE api_id = process_id * (1 << 40) + "
		"correlation_id",
		6);
	call[3] = 1ull << 40;
	peer_add_called(&f, 2, 8, 8, &calls);
	harness_send(h, &f);
	harness_wait(h, STORE_BAD_FRAME);
	assert_string_equal(h->answer.text, "a host call's id is out of range");
}

STORE_CASE(duplicates_are_ignored_and_counted)
{
	struct frames f = {0};

	harness_open_timed(h, &f);
	peer_add_dispatches(&f, 1, 1, 0, 10);
	peer_add_dispatches(&f, 2, 1, 10, 10);
	peer_add_dispatches(&f, 1, 1, 0, 10);
	peer_add_dispatches(&f, 2, 1, 10, 10);
	peer_add_dispatches(&f, 3, 1, 20, 10);
	harness_send(h, &f);
	harness_wait_commit(h, 3);
	assert_number(h->path, "SELECT count(*) FROM rocpd_op", 30);
	assert_number(h->path, "SELECT duplicate_frames FROM rtl_process", 2);
	harness_check_books(h->path);
}

STORE_CASE(a_gap_stops_the_peer_until_it_comes_back)
{
	struct frames f = {0};

	harness_open_timed(h, &f);
	peer_add_dispatches(&f, 1, 1, 0, 10);
	peer_add_dispatches(&f, 3, 1, 20, 10);
	peer_add_dispatches(&f, 2, 1, 10, 10);
	harness_send(h, &f);
	harness_wait(h, STORE_BAD_FRAME);
	assert_string_equal(h->answer.text, "frame 3 came after 1");
	assert_int_equal(store_process_reopen(h->process), 0);
	harness_wait(h, STORE_PROCESS_OPENED);
	assert_int_equal(h->answer.frame, 1);
	peer_add_defines(&f);
	peer_add_dispatches(&f, 2, 1, 10, 10);
	peer_add_dispatches(&f, 3, 1, 20, 10);
	harness_send(h, &f);
	harness_wait_commit(h, 3);
	assert_number(h->path, "SELECT count(*) FROM rocpd_op", 30);
	harness_check_books(h->path);
}

/* Each is refused, and what came before it is stored. */
STORE_CASE(nonsense_is_refused)
{
	static const uint8_t no_frame[] = {3, 0, 0, 0, 0xff, 0xff, 0xff};
	static const uint8_t cut_off[] = {200, 0, 0, 0, 1};
	static const uint8_t empty[] = {2, 0, 0, 0, 8, 1};
	struct {
		const char *why;
		const void *bytes;
		size_t count;
	} bad[] = {
		{"not a frame", no_frame, sizeof(no_frame)},
		{"a frame is cut off", cut_off, sizeof(cut_off)},
		{"not a frame", empty, sizeof(empty)},
	};
	struct frames f = {0};

	harness_open_timed(h, &f);
	peer_add_dispatches(&f, 1, 1, 0, 10);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		f.bytes = realloc(f.bytes, f.count + bad[i].count);
		memcpy(f.bytes + f.count, bad[i].bytes, bad[i].count);
		f.count += bad[i].count;
		harness_send(h, &f);
		harness_wait(h, STORE_BAD_FRAME);
		assert_string_equal(h->answer.text, bad[i].why);
		assert_int_equal(store_process_reopen(h->process), 0);
		harness_wait(h, STORE_PROCESS_OPENED);
		assert_int_equal(h->answer.frame, 1);
	}
	peer_add_dispatches(&f, 2, 9, 10, 1);
	harness_send(h, &f);
	harness_wait(h, STORE_BAD_FRAME);
	assert_string_equal(h->answer.text, "a dispatch has an undefined shape");
	assert_number(h->path, "SELECT count(*) FROM rocpd_op", 10);
	harness_check_books(h->path);
}

STORE_CASE(numbers_are_of_frames_with_records_alone)
{
	uint32_t kind = RTL_MARKER_END, zero = 0;
	uint64_t one = 1;
	Rtl__Markers markers = RTL__MARKERS__INIT;
	Rtl__Anchors anchors = RTL__ANCHORS__INIT;
	Rtl__ControlDone done = RTL__CONTROL_DONE__INIT;
	Rtl__Frame unnumbered = RTL__FRAME__INIT, numbered = RTL__FRAME__INIT;
	Rtl__Frame control = RTL__FRAME__INIT;
	struct frames f = {0};

	harness_open(h);
	/* What the loop has taken already is no record. */
	control.body_case = RTL__FRAME__BODY_CONTROL_DONE;
	control.control_done = &done;
	frames_add(&f, &control);
	markers.has_n = true;
	markers.n = markers.n_kind = markers.n_id = markers.n_parent = 1;
	markers.n_tid = markers.n_time_ns = markers.n_text = 1;
	markers.kind = &kind;
	markers.id = markers.parent = markers.time_ns = &one;
	markers.tid = markers.text = &zero;
	unnumbered.body_case = RTL__FRAME__BODY_MARKERS;
	unnumbered.markers = &markers;
	frames_add(&f, &unnumbered);
	harness_send(h, &f);
	harness_wait(h, STORE_BAD_FRAME);
	assert_string_equal(h->answer.text, "a frame's columns do not match");
	assert_int_equal(store_process_reopen(h->process), 0);
	harness_wait(h, STORE_PROCESS_OPENED);
	numbered.has_number = true;
	numbered.number = 1;
	numbered.body_case = RTL__FRAME__BODY_ANCHORS;
	numbered.anchors = &anchors;
	frames_add(&f, &numbered);
	harness_send(h, &f);
	harness_wait(h, STORE_BAD_FRAME);
	assert_string_equal(h->answer.text, "a number on no records");
}

STORE_CASE(a_column_too_short_is_refused)
{
	struct frames f = {0};
	Rtl__Frame frame = RTL__FRAME__INIT;
	Rtl__Dispatches d = RTL__DISPATCHES__INIT;

	harness_open(h);
	frame.has_number = 1;
	frame.number = 1;
	frame.body_case = RTL__FRAME__BODY_DISPATCHES;
	frame.dispatches = &d;
	d.has_n = d.has_submit_base_ns = 1;
	d.n = 5;
	frames_add(&f, &frame);
	harness_send(h, &f);
	harness_wait(h, STORE_BAD_FRAME);
	assert_string_equal(h->answer.text, "a frame's columns do not match");
}

STORE_CASE(a_clean_end_is_complete_and_one_file)
{
	struct store_session_stat stat;
	struct frames f = {0};
	char wal[128];

	harness_open_timed(h, &f);
	peer_add_dispatches(&f, 1, 1, 0, 1000);
	peer_add_counters(&f, 0, RTL_Q_dispatched, 1000, RTL_Q_recorded, 1000, -1);
	harness_send(h, &f);
	harness_close(h);
	assert_string_equal(h->answer.text, "complete: 1000 dispatched, 1000 stored");
	assert_true(h->answer.complete);
	assert_int_equal(h->answer.error, 0);
	assert_string_equal(h->answer.database, h->path);
	assert_text(h->path, "PRAGMA journal_mode", "delete");
	snprintf(wal, sizeof(wal), "%s-wal", h->path);
	assert_int_not_equal(access(wal, F_OK), 0);
	assert_number(h->path, "SELECT value FROM rtl_meta WHERE key='complete'", 1);
	assert_text(h->path, "SELECT value FROM rtl_meta WHERE key='completeness'",
		"complete: 1000 dispatched, 1000 stored");
	assert_text(h->path, "SELECT ended || drained FROM rtl_process", "exited1");
	assert_number(h->path,
		"SELECT value FROM rtl_counter WHERE queueId = 0 AND name = 'recorded'", 1000);
	harness_check_books(h->path);
	store_session_stat(h->session, &stat);
	assert_true(stat.closed && stat.complete && !stat.simulated);
	assert_int_equal(stat.stored, 1000);
	store_session_free(h->session);
}

STORE_CASE(losses_are_named)
{
	static const char known[] = "INCOMPLETE: 20 dispatched, 10 stored, 6 dropped "
				    "(recorder_full 6: rank 0 queue 0), 0 untimed, 0 outstanding, "
				    "3 skipped (filter 3), 1 torn (rank 0 queue 0, ";
	struct frames f = {0};

	harness_open_timed(h, &f);
	peer_add_dispatches(&f, 1, 1, 0, 10);
	peer_add_counters(&f, 0, RTL_Q_dispatched, 20, RTL_Q_dropped_recorder_full, 6,
		RTL_Q_skipped_filter, 3, RTL_Q_skipped_not_kernel, 99, -1);
	harness_send(h, &f);
	harness_wait_commit(h, 1);
	assert_number(h->path, "SELECT pending FROM rtl_account", 1);
	harness_close(h);
	/* And when: counters that bear no time are of when they were read. */
	assert_int_equal(strncmp(h->answer.text, known, strlen(known)), 0);
	assert_non_null(strstr(h->answer.text + strlen(known), " UTC)"));
	assert_false(h->answer.complete);
	assert_number(h->path, "SELECT pending FROM rtl_account", 0);
	assert_number(
		h->path, "SELECT count FROM rtl_loss WHERE reason = 'dropped_recorder_full'", 6);
	harness_check_books(h->path);
}

STORE_CASE(a_filter_is_no_loss)
{
	struct frames f = {0};

	harness_open_timed(h, &f);
	peer_add_dispatches(&f, 1, 1, 3, 2);
	peer_add_counters(&f, 0, RTL_Q_dispatched, 5, RTL_Q_skipped_filter, 3, -1);
	harness_send(h, &f);
	harness_close(h);
	assert_string_equal(
		h->answer.text, "complete: 5 dispatched, 2 stored, 3 skipped (filter 3)");
}

STORE_CASE(a_software_gpu_is_said_first)
{
	size_t count;
	uint8_t *hello = peer_hello_named(1, "gfx90a (SIMULATED)", &count);

	harness_open_session(h, STORE_NEW);
	assert_int_equal(
		store_process_open(h->session, hello, count, getuid(), 1001, 4242, h, &h->process),
		0);
	harness_wait(h, STORE_PROCESS_OPENED);
	assert_number(h->path, "SELECT value FROM rtl_meta WHERE key='simulated'", 1);
	harness_close(h);
	assert_string_equal(h->answer.text, "SIMULATED complete: 0 dispatched, 0 stored");
}

STORE_CASE(an_unseen_death_is_an_unknown_tail)
{
	struct frames f = {0};

	harness_open_timed(h, &f);
	peer_add_dispatches(&f, 1, 1, 0, 10);
	harness_send(h, &f);
	assert_int_equal(store_process_end(h->process, -1, STORE_ENDED_KILLED, 137), 0);
	harness_wait(h, STORE_PROCESS_ENDED);
	assert_int_equal(store_session_close(h->session, -1), 0);
	harness_wait(h, STORE_CLOSED);
	assert_false(h->answer.complete);
	assert_non_null(strstr(h->answer.text, "INCOMPLETE: 10 dispatched, 10 stored"));
	assert_non_null(strstr(h->answer.text, "1 process with an unknown tail (rank 0"));
	assert_number(h->path,
		"SELECT count(*) FROM rtl_loss WHERE reason = 'unknown_tail' AND count IS NULL", 1);
	assert_text(
		h->path, "SELECT ended || drained || exit_status FROM rtl_process", "killed0137");
}

STORE_CASE(live_figures_need_no_disk)
{
	struct store_process_stat stat;
	struct frames f = {0};

	harness_open_timed(h, &f);
	peer_add_dispatches(&f, 1, 1, 0, 10);
	peer_add_dispatches(&f, 2, 2, 0, 20);
	peer_add_counters(&f, 1, RTL_Q_dispatched, 25, RTL_Q_dropped_recorder_full, 1, -1);
	harness_send(h, &f);
	assert_int_equal(store_flush(h->store, STORE_EVERYBODY, h), 0);
	harness_wait(h, STORE_FLUSHED);
	assert_int_equal(h->answer.error, 0);
	store_process_stat(h->process, &stat);
	assert_int_equal(stat.gpus, 2);
	for (unsigned i = 0; i < 2; i++) {
		const struct store_gpu_stat *gpu = &stat.gpu[i];
		bool is_second = gpu->gpu_id == 4;

		assert_int_equal(gpu->dispatched, is_second ? 25 : 10);
		assert_int_equal(gpu->stored, is_second ? 20 : 10);
		assert_int_equal(gpu->dropped, is_second);
		assert_int_equal(gpu->pending, is_second ? 4 : 0);
		assert_int_equal(gpu->busy_ns, gpu->stored * 500);
		assert_int_equal(gpu->last_end_ns,
			PEER_ZERO_NS + (1050 + 100 * (gpu->stored - 1)) * PEER_TICK_NS);
	}
	assert_string_equal(stat.exe, "/bin/peer");
	assert_int_equal(stat.pid, 1001);
}

STORE_CASE(times_that_cannot_be_are_untimed)
{
	struct frames f = {0};

	harness_open(h);
	peer_add_defines(&f);
	/* No anchor: nothing says when tick 1000 was. */
	peer_add_dispatches(&f, 1, 1, 0, 3);
	harness_send(h, &f);
	harness_wait_commit(h, 1);
	assert_number(h->path,
		"SELECT count(*) FROM rocpd_op WHERE start IS NULL AND \"end\" IS NULL AND reason "
		"= 'untimed_timestamp_invalid'",
		3);
	assert_number(h->path, "SELECT min(submit_ns) FROM rocpd_op",
		PEER_ZERO_NS + 1000 * PEER_TICK_NS - 500);
	assert_number(h->path,
		"SELECT count FROM rtl_loss WHERE reason = 'untimed_timestamp_invalid'", 3);
	harness_check_books(h->path);
}

static void add_text(struct frames *f, uint32_t id, const char *text)
{
	peer_add_kernel(f, id, text, strlen(text));
}

STORE_CASE(names_are_kept_harmless)
{
	struct frames f = {0};
	static const char hostile[] = "x'); DROP TABLE rtl_dispatch; --\xff\xc0\x80\x1b[2J%n%s";
	static const char with_nul[] = "a\0b";

	harness_open(h);
	peer_add_anchors(&f, 1000000);
	peer_add_kernel(&f, 1, hostile, sizeof(hostile) - 1);
	peer_add_kernel(&f, 2, with_nul, 3);
	add_text(&f, 3, "_Z8gemm_tnnIDF16_EvPT_i.kd");
	add_text(&f, 4, "");
	for (uint32_t id = 1; id <= 4; id++)
		peer_add_dispatches(&f, id, id, id - 1, 1);
	harness_send(h, &f);
	harness_wait_commit(h, 4);
	assert_number(h->path, "SELECT count(*) FROM rocpd_op", 4);
	assert_text(h->path, "SELECT name FROM rtl_kernel WHERE symbol LIKE '_Z8gemm%'",
		"void gemm_tnn<_Float16>(_Float16*, int)");
	assert_number(
		h->path, "SELECT count(*) FROM rtl_kernel WHERE name GLOB 'x''); DROP TABLE*'", 1);
	assert_number(h->path,
		"SELECT count(*) FROM rtl_kernel WHERE name = 'a' || char(0xfffd) || 'b'", 1);
	harness_check_books(h->path);
}

static void add_markers(struct frames *f, uint64_t number, uint32_t n, const uint32_t *kind,
	const uint64_t *id, const uint64_t *time_ns)
{
	Rtl__Frame frame = RTL__FRAME__INIT;
	Rtl__Markers m = RTL__MARKERS__INIT;
	uint64_t parent[8] = {0};
	uint32_t tid[8] = {0}, text[8];

	for (uint32_t i = 0; i < n; i++)
		text[i] = kind[i] == RTL_MARKER_END ? 0 : 1;
	m.has_n = 1;
	m.n = n;
	m.n_kind = m.n_id = m.n_parent = m.n_tid = m.n_time_ns = m.n_text = n;
	m.kind = (uint32_t *)(uintptr_t)kind;
	m.id = (uint64_t *)(uintptr_t)id;
	m.time_ns = (uint64_t *)(uintptr_t)time_ns;
	m.parent = parent;
	m.tid = tid;
	m.text = text;
	frame.has_number = 1;
	frame.number = number;
	frame.body_case = RTL__FRAME__BODY_MARKERS;
	frame.markers = &m;
	frames_add(f, &frame);
}

STORE_CASE(markers_open_and_close)
{
	struct frames f = {0};
	const uint32_t kind[] = {RTL_MARKER_BEGIN_PUSH, RTL_MARKER_BEGIN_START, RTL_MARKER_MARK};
	const uint64_t id[] = {1, 2, 3}, begin[] = {100, 200, 300}, end[] = {400};
	const uint32_t kind_end[] = {RTL_MARKER_END};

	harness_open(h);
	peer_add_defines(&f);
	add_markers(&f, 1, 3, kind, id, begin);
	add_markers(&f, 2, 1, kind_end, id, end);
	harness_send(h, &f);
	harness_wait_commit(h, 2);
	assert_text(h->path,
		"SELECT group_concat(kind || start_ns || coalesce(end_ns, '-') || text) FROM "
		"rtl_marker",
		"push100400alpha.kd,start200-alpha.kd,mark300300alpha.kd");
}

STORE_CASE(few_anchors_are_kept)
{
	struct frames f = {0};

	harness_open(h);
	peer_add_defines(&f);
	for (uint64_t tick = 1000000; tick <= 300000000; tick += 1000000)
		peer_add_anchors(&f, tick);
	peer_add_dispatches(&f, 1, 1, 0, 1);
	harness_send(h, &f);
	harness_wait_commit(h, 1);
	/* 3 s at 100 MHz, an anchor each 10 ms: many of the first ones, then few. */
	assert_in_range(
		sql_number(h->path, "SELECT count(*) FROM rtl_clock WHERE gpuId = 3"), 8, 20);
	assert_number(h->path, "SELECT anchors FROM rtl_clock_check WHERE gpuId = 3", 301);
}

STORE_CASE(busy_is_a_union)
{
	struct frames f = {0};

	harness_open(h);
	peer_add_anchors(&f, 1000000);
	add_text(&f, 1, "one");
	add_text(&f, 2, "two");
	/* The same ten intervals twice, on one GPU. */
	peer_add_dispatches(&f, 1, 1, 0, 10);
	peer_add_dispatches(&f, 2, 2, 0, 10);
	harness_send(h, &f);
	harness_wait_commit(h, 2);
	assert_text(h->path, "SELECT ops || ' ' || busy_ns || ' ' || wall_ns FROM busy",
		"20 5000 9500");
	assert_text(h->path,
		"SELECT group_concat(Name || Calls || '-' || TotalNs || '-' || AvgNs || '-' || "
		"Pct) FROM top",
		"one10-5000-500-50.0,two10-5000-500-50.0");
}

STORE_CASE(a_million_rows_are_fed)
{
	struct frames f = {0};
	uint64_t number = 0;

	harness_open(h);
	peer_add_defines(&f);
	peer_add_anchors(&f, 1000000000);
	for (uint64_t seq = 0; seq < 1000000; seq += 1000) {
		peer_add_dispatches(&f, ++number, 1, seq, 1000);
		if (number % 16)
			continue;
		size_t count;
		uint8_t *bytes = frames_take(&f, &count);

		/* As the loop does: stop where it is told to, go on when it may. */
		if (store_process_frames(h->process, bytes, count) == 1)
			harness_wait(h, STORE_ROOM);
	}
	harness_send(h, &f);
	harness_close(h);
	assert_string_equal(h->answer.text, "complete: 1000000 dispatched, 1000000 stored");
	assert_number(h->path, "SELECT count(*) FROM rocpd_op", 1000000);
	assert_number(h->path, "SELECT sum(sequenceId) FROM rocpd_op", 499999500000);
	harness_check_books(h->path);
}

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A collector for tests of the shim: speaks docs/protocol.md from the other side, keeps what it
 * receives in memory, and checks rules of the shim (no gaps, no records before their definitions or
 * before any anchor). It stores nothing and has no sessions. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/names/counters.h"
#include "proto/wire/frame.h"
#include "proto/wire/msg.h"

#define TEST_SHAPES_MAX	   65536u
#define TEST_STRINGS_MAX   65536u
#define TEST_PROCESSES_MAX 128u

struct test_row {
	uint32_t shape;
	uint64_t seq;
	uint64_t start_tick, end_tick;
	uint64_t submit_ns;
	uint64_t marker;
	uint32_t tid;
	uint32_t untimed;
};

struct test_marker {
	uint32_t kind, tid;
	uint64_t id, parent, time_ns;
	char *text; /* NULL for an end */
};

struct test_shape {
	uint32_t gpu, queue, symbol; /* symbol 0 if this shape was never defined */
};

/* One instance of a shim, identified by its token. */
struct test_process {
	uint8_t token[16];
	pid_t pid;    /* as the kernel reports it */
	int64_t rank; /* -1 if unknown */
	char job[256], launcher[32], runtime[256];
	uint32_t gpus;
	uint32_t gpu_id[64];
	uint64_t tick_hz[64];
	int recorder; /* the memfd received with the last connection */
	uint64_t hw;
	bool has_said_bye;
	bool is_recording; /* according to its latest ControlDone */
	uint64_t control_seq;
	unsigned connections;

	struct test_row *rows;
	size_t row_count, row_room;
	struct test_marker *markers;
	size_t marker_count, marker_room;
	struct test_shape *shapes; /* TEST_SHAPES_MAX */
	uint32_t *symbol_name;	   /* by symbol id */
	char **strings;		   /* by string id */
	uint64_t anchors;
	uint64_t process_counter[RTL_P_COUNT];
	uint64_t queue_counter[1024][RTL_Q_COUNT];
};

struct test_collector {
	struct test_process *process[TEST_PROCESSES_MAX];
	unsigned processes;
	struct msg_arena arena;
	unsigned unrecorded; /* number of processes that reported that they have no recorder */
	bool is_silent;	     /* send no Ack */
};

/*
 * Reads what the recorder still holds of a process that has ended: frames after hw become rows.
 * *ret_done, *ret_submitted: slots that are in no frame. -EPROTO if its contents are invalid.
 */
int test_process_drain(struct test_collector *collector, struct test_process *process,
	uint64_t *ret_done, uint64_t *ret_submitted);

void test_process_free(struct test_process *process);

/* Returns a listening socket at @path, or -errno. */
int test_listen(const char *path);

struct test_connection {
	int fd;
	struct frame_reader reader;
	struct test_process *process; /* NULL before its Hello */
	unsigned record_frames;	      /* number on this connection */
};

void test_connection_open(struct test_connection *connection, int fd);
void test_connection_close(struct test_connection *connection);

/*
 * Reads what has arrived and answers it. 1 if the peer hung up; -EPROTO, with a line on stderr, if
 * the shim broke a rule.
 */
int test_connection_step(struct test_collector *collector, struct test_connection *connection);

/* Sends a whole frame; the socket has room in these tests. */
int test_send(int fd, const Rtl__Frame *frame);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The connection to the collector (docs/protocol.md, "A shim"). Belongs to the shim thread
 * alone; never blocks, never calls the runtime. It sends from the recorder: Hello with the
 * memfd, the define log, telemetry, then the cells after the collector's high water. What was
 * not acknowledged when a connection ends is sent again on the next one.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/wire/frame.h"
#include "proto/base/limits.h"
#include "proto/wire/msg.h"
#include "shim/send/connect.h"
#include "shim/record/recorder.h"
#include "shim/record/telemetry.h"

#define CONN_TELEMETRY_BYTES TELEMETRY_BYTES_MAX

/* Three numbers, their tags, and the frame around them. */
#define CONN_CONTROL_DONE_BYTES 64u

enum conn_state {
	CONN_AWAY,     /* no connection; tries again at next_try_ns */
	CONN_GREETING, /* Hello is on its way, no Welcome yet */
	CONN_STREAMING,
};

enum conn_item {
	CONN_NOTHING,
	CONN_HELLO,
	CONN_DEFINES,
	CONN_TELEMETRY,
	CONN_RECORDS,
	CONN_BYE,
	CONN_STATE
};

struct conn {
	enum conn_state state;
	int fd;		  /* owned; -1: none */
	uint64_t fd_mark; /* fd.h */
	struct recorder *recorder;
	const uint8_t *hello; /* borrowed */
	size_t hello_bytes;
	char path[DIAL_PATHS_MAX][LABEL_BYTES_MAX];
	unsigned paths;

	/* What is being written: one item at a time, so that frames never mix. */
	enum conn_item item;
	const uint8_t *out;
	size_t out_left;
	size_t out_bytes;
	uint64_t out_number;

	uint64_t define_bytes; /* of the define log, sent on this connection */
	uint8_t *telemetry;    /* owned */
	size_t telemetry_bytes;
	bool has_telemetry; /* waits to be written or is being written */
	bool is_fresh;	    /* welcomed, and no telemetry given yet: it has to be whole */
	bool has_stored;    /* something was acknowledged on this connection */
	uint64_t limit;	    /* records up to here have their telemetry before them */
	uint64_t next_limit;
	bool wants_bye, has_said_bye;
	bool wants_state; /* ControlDone is due */
	bool is_settled;  /* nothing that was recorded is still to be published */
	uint8_t control_done[CONN_CONTROL_DONE_BYTES];

	struct frame_reader reader;
	struct msg_arena arena;

	uint64_t next_try_ns;
	uint64_t away_since_ns;
	uint64_t welcome_ns;
	int failed_error;     /* errno of the last attempt to connect; 0: none failed */
	unsigned failed_path; /* index of its path */
	bool has_complained;
	bool is_refused;   /* by whoever was asked last */
	bool has_last_try; /* the program ends: try before next_try_ns, once */
};

/* @socket: RTL_SOCKET, or "" for the usual places. -ENOMEM. All else comes with conn_step(). */
int conn_init(struct conn *conn, struct recorder *recorder, const char *socket,
	const uint8_t *hello, size_t hello_bytes);
void conn_done(struct conn *conn);

/* The first step, in OnLoad: connects and says Hello, and leaves the answer to the thread. */
void conn_greet(struct conn *conn, uint64_t now_ns);

/* Connects when it is time to, reads what came, writes what fits. @now_ns: CLOCK_BOOTTIME. */
void conn_step(struct conn *conn, uint64_t now_ns);

/* For poll(): what to wait for on conn->fd, which may be -1. */
short conn_events(const struct conn *conn);

/*
 * Where to put the next telemetry (Anchors and Counters frames), CONN_TELEMETRY_BYTES of room;
 * NULL: not connected, or the last one is not out yet. *ret_is_whole: everything has to be in
 * it, not just what changed. conn_put_telemetry() also lets all published records follow; it
 * is needed for them even when @bytes is 0.
 */
uint8_t *conn_telemetry(const struct conn *conn, bool *ret_is_whole);
void conn_put_telemetry(struct conn *conn, size_t bytes);

/* Published records wait for telemetry. */
bool conn_wants_telemetry(const struct conn *conn);

/* Recording began or ended: the collector is told. */
void conn_tell_state(struct conn *conn);

/* While nothing is recorded: whether all that was recorded is published. The collector is told when it
 * is, and waits for that. */
void conn_settle(struct conn *conn, bool is_settled);

/* Say Bye once everything published is written. */
void conn_bye(struct conn *conn);

/*
 * The program ends: where no connection is, or is lost from now on, the next step tries once more
 * at once. A collector that listens by then reads the recorder, though nothing else is ever sent.
 */
void conn_hurry(struct conn *conn);

/* At the end: says that nobody was there if that was not said yet and something was lost. */
void conn_last_words(struct conn *conn);

/* There is something that a further step would do: write, or try once more to connect. */
bool conn_is_busy(const struct conn *conn);

/* fork's child: the descriptor goes, nothing else is touched. */
void conn_forget(struct conn *conn);

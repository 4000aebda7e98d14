/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The connection to the collector (docs/protocol.md, "A shim"). Used by the shim thread only; never
 * blocks and never calls the runtime. It sends from the recorder: Hello with the memfd, the define
 * log, telemetry, then the cells after the collector's high-water mark. What was not acknowledged
 * when a connection ends is sent again on the next one.
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
	CONN_GREETING, /* Hello is being sent or was sent; no Welcome yet */
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
	int fd;		  /* owned; -1 if there is none */
	uint64_t fd_mark; /* fd_mark() of fd */
	struct recorder *recorder;
	const uint8_t *hello; /* borrowed */
	size_t hello_bytes;
	char path[DIAL_PATHS_MAX][LABEL_BYTES_MAX];
	unsigned paths;

	/* The item being written: one at a time, so that frames never mix. */
	enum conn_item item;
	const uint8_t *out;
	size_t out_left;
	size_t out_bytes;
	uint64_t out_number;

	uint64_t define_bytes; /* bytes of the define log that were sent on this connection */
	uint8_t *telemetry;    /* owned */
	size_t telemetry_bytes;
	bool has_telemetry; /* telemetry is being written, or waits for that */
	bool is_fresh;	    /* just welcomed: the first telemetry has to be complete */
	bool has_stored;    /* something was acknowledged on this connection */
	uint64_t limit; /* records up to this number may follow, since their telemetry was sent */
	uint64_t next_limit;
	bool wants_bye, has_said_bye;
	bool wants_state; /* a ControlDone has to be sent */
	bool is_settled;  /* everything that was recorded has been published */
	uint8_t control_done[CONN_CONTROL_DONE_BYTES];

	struct frame_reader reader;
	struct msg_arena arena;

	uint64_t next_try_ns;
	uint64_t away_since_ns;
	uint64_t welcome_ns;
	int failed_error;     /* errno of the last attempt to connect; 0 if none failed */
	unsigned failed_path; /* index of its path */
	bool has_complained;
	bool is_quiet;	   /* another rank of this node says that there is no collector */
	bool is_refused;   /* by the collector that was asked last */
	bool has_last_try; /* the program ends: try once before next_try_ns */
};

/*
 * @socket is RTL_SOCKET, or "" for the usual places. -ENOMEM; everything else happens in
 * conn_step().
 */
int conn_init(struct conn *conn, struct recorder *recorder, const char *socket,
	const uint8_t *hello, size_t hello_bytes);
void conn_done(struct conn *conn);

/* The first step, in OnLoad: connects and sends Hello. The shim thread reads the answer. */
void conn_greet(struct conn *conn, uint64_t now_ns);

/* Connects when it is time, reads what has come, writes what fits. @now_ns is CLOCK_BOOTTIME. */
void conn_step(struct conn *conn, uint64_t now_ns);

/* The events to poll for on conn->fd, which may be -1. */
short conn_events(const struct conn *conn);

/*
 * Returns the buffer of CONN_TELEMETRY_BYTES for the next telemetry (Anchors and Counters frames),
 * or NULL if not connected, or if the last one has not been sent yet. If *ret_is_whole, it must
 * contain everything and not only changes. conn_put_telemetry() also releases all published
 * records, so it has to be called for them even if @bytes is 0.
 */
uint8_t *conn_telemetry(const struct conn *conn, bool *ret_is_whole);
void conn_put_telemetry(struct conn *conn, size_t bytes);

/* Whether published records wait for telemetry. */
bool conn_wants_telemetry(const struct conn *conn);

/* Recording has started or stopped, so the collector must be told. */
void conn_tell_state(struct conn *conn);

/*
 * While nothing is recorded: whether everything recorded is published. The collector waits to be
 * told so.
 */
void conn_settle(struct conn *conn, bool is_settled);

/* Sends Bye once everything published has been written. */
void conn_bye(struct conn *conn);

/*
 * The program ends: if there is no connection, or if it is lost, the next step tries once more, at
 * once. A collector that listens by then can read the recorder, even if nothing else is ever sent.
 */
void conn_hurry(struct conn *conn);

/*
 * Called at the end: prints that there was no collector, if that was not said and something was
 * lost.
 */
void conn_last_words(struct conn *conn);

/* Whether a further step would do something: write, or try to connect once more. */
bool conn_is_busy(const struct conn *conn);

/* For the child of fork(): closes the descriptor and touches nothing else. */
void conn_forget(struct conn *conn);

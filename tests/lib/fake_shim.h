/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A shim without an application: a real recorder (sealed memfd) and the real wire, driven
 * step by step by a test, which may also break the rules. Nothing here runs by itself.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/wire/frame.h"
#include "proto/wire/msg.h"
#include "proto/recorder/layout.h"
#include "tests/lib/fake_child.h"

#define FAKE_CELLS	  16u
#define FAKE_CELL_BYTES	  (4u << 10)
#define FAKE_SLOTS	  64u
#define FAKE_DEFINE_BYTES (16u << 10)
#define FAKE_HELLO_BYTES  (1u << 10)
#define FAKE_WAIT_MS	  300000 /* for what must come; long, since only a failure waits it out */

struct fake_shim {
	int fd;	   /* connection; -1: none */
	int memfd; /* recorder */
	struct recorder_header *recorder;
	uint64_t next;	  /* number of the next frame */
	uint64_t seq;	  /* of the next dispatch, queue 0 */
	bool is_unsealed; /* set before fake_shim_hello(): hand over an unsealed memfd */
	uint32_t version_min, version_max;
	int64_t rank; /* -1: unknown */
	const char *job;
	void (*edit_hello)(Rtl__Hello *hello, void *data); /* before it is packed; NULL: as it is */
	void *edit_data;
	uid_t uid;   /* the uid that the child takes if we are root; (uid_t)-1: it keeps ours */
	pid_t child; /* process of the shim; 0: the test itself */
	int control; /* a byte to the child: connect again */
	struct frame_reader reader;
	struct msg_arena arena;
	size_t cursor;
};

/* A recorder with one GPU and one queue; token from getrandom(). 0 or -errno. */
int fake_shim_init(struct fake_shim *shim, const char *job);
void fake_shim_done(struct fake_shim *shim);

/* Blocking sockets; 0 or -errno. */
int fake_shim_connect(struct fake_shim *shim, const char *path);
/* Runs the shim as a process of its own that does nothing else: shim->child, which the test may
 * kill. */
int fake_shim_connect_child(struct fake_shim *shim, const char *path);
/* The same child connects to the same path again; the test's end is replaced. */
int fake_shim_reconnect_child(struct fake_shim *shim);
void fake_shim_hang_up(struct fake_shim *shim);
/* SIGKILL and reap the child. */
void fake_shim_kill(struct fake_shim *shim);

/* Sends @n_fds copies of the recorder with it. 0 or -errno. */
int fake_shim_send_hello(struct fake_shim *shim, unsigned n_fds);

/* Puts Hello into the recorder, where a collector finds it that keeps the recorder. 0 or -errno. */
int fake_shim_keep_hello(struct fake_shim *shim);

/* Unpacked in the shim's arena until the next. 0; -ECONNRESET: closed; -ETIMEDOUT. */
int fake_receive(struct fake_shim *shim, int timeout_ms, Rtl__Frame **ret);

/* 0 or -errno of the send. */
int fake_send(int fd, const Rtl__Frame *frame);
int fake_send_bytes(int fd, const void *bytes, size_t n);

/* Into the define log, and on the wire when connected: symbol 1 "fake_kernel.kd", shape 1. */
int fake_shim_define(struct fake_shim *shim);

/*
 * Publish a frame of @n dispatches in its cell; send it unless @is_kept. Each lasts 10 ticks.
 */
int fake_shim_dispatch(struct fake_shim *shim, unsigned n, bool is_kept);

/* Resend what is published after @hw, as a reconnected shim does. */
int fake_shim_resend(struct fake_shim *shim, uint64_t hw);

int fake_shim_send_counters(struct fake_shim *shim);
int fake_shim_send_bye(struct fake_shim *shim);

/* Field 22 of /proc/PID/stat. */
uint64_t fake_start_time(pid_t pid);

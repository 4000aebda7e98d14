/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * store.h without a disk or a thread, at the link seam: it answers as the store does unless
 * the test holds an answer back, and remembers what it was asked. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectord/store/store.h"

struct store_session {
	struct store_session *next;
	void *owner;
	char name[64];
	char path[256];
	char job[64];
	uid_t uid;
	int exit_status;
	bool is_closed;
	bool was_unwatched;
	unsigned unseen;
	bool is_freed;
};

struct store_process {
	struct store_process *next;
	struct store_session *session;
	void *owner;
	pid_t pid;
	uint64_t hw;
	unsigned reopens;
	size_t frame_bytes; /* taken in */
	bool has_ended;
	enum store_ended how;
	int exit_status;
	bool had_memfd;
};

struct fake_store {
	struct store_session *sessions; /* newest first; kept after their end */
	struct store_process *processes;
	unsigned n_sessions;
	unsigned n_processes;
	bool holds_opens; /* no PROCESS_OPENED until fake_store_open() */
	bool is_full;	  /* store_process_frames() says 1 */
	bool refuses_sessions;
	bool only_makes; /* no OPENED until fake_store_open_session() */
	int flush_error;
	unsigned refusals;	/* so many requests to come find no memory: ends, closes, flushes */
	uid_t flush_uid;	/* whose sessions were flushed last */
	int disposal_error;	/* of store_remove() and store_keep() */
	uid_t disposal_uid;	/* the user that asked for the last one ... */
	char disposal_name[64]; /* ... and the session or database that it was about */
};

extern struct fake_store fake_store;

struct store *fake_store_new(void);
struct store *fake_store_free(struct store *store);

/* Its file, which was only made, is open. */
void fake_store_open_session(struct store *store, struct store_session *session);

/* Any answer, as the store would give it. */
void fake_store_answer(struct store *store, enum store_answer_kind kind, void *owner,
	uint64_t frame, const char *text);

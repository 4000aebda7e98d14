/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * One instance of the shim, which is one process until it execs: (boot id, pid, start time, token),
 * as long as the kernel says it lives, over any number of connections. A hang-up is not a death;
 * the pidfd says that, or a Hello of the same pid with another token (exec). Then the store drains
 * its recorder. Loop thread.
 *
 *   OPENING -> STREAMING <-> AWAY -> DYING (how did it end?) -> DRAINING -> ENDED
 */
#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collectord/loop/recording_control.h"

struct peer;
struct server;
struct session;
struct store_answer;
struct store_process;

#define INSTANCE_TOKEN_BYTES 16u

enum instance_state {
	INSTANCE_OPENING, /* the store has not answered yet */
	INSTANCE_STREAMING,
	INSTANCE_AWAY,	/* lives, not connected */
	INSTANCE_DYING, /* its exit status is asked for */
	INSTANCE_DRAINING,
	INSTANCE_ENDED, /* nothing more comes; kept for its session's numbers */
};

enum instance_end {
	INSTANCE_END_UNKNOWN,
	INSTANCE_END_EXITED,
	INSTANCE_END_KILLED,
	INSTANCE_END_EXEC,
	INSTANCE_END_DETACHED,
};

struct instance_identity {
	uid_t uid;
	pid_t pid;
	uint64_t start_time;
	uint8_t token[INSTANCE_TOKEN_BYTES];
	uint8_t boot_id[INSTANCE_TOKEN_BYTES];
};

struct instance {
	struct session *session;
	struct instance *next; /* of its session */
	struct instance *next_in_bucket; /* instances.c */
	struct instance_identity identity;
	enum instance_state state;
	enum instance_end end;
	int memfd;	     /* the recorder; the store's from the drain on */
	int pidfd;	     /* -1: this kernel has none, /proc is asked */
	struct event *death; /* pidfd readable, or a timer */
	struct event *exit_timer; /* for its exit status, then for memory to tell the store */
	unsigned exit_tries;
	int exit_status; /* as a shell says it; -1: unknown */
	struct peer *peer;	     /* NULL: away */
	struct store_process *store; /* NULL: left by an earlier life, and not come back */
	uint64_t left_id;	     /* then: its rtl_process.id */
	bool is_open_pending;	     /* its answer is to come before a connection may be welcomed */
	bool had_peer;
	bool is_kept; /* its recorder outlives us */
	bool was_kept; /* it outlived an earlier life of us, which had stored of it */
	bool is_welcomed; /* the current connection */
	bool is_failed;	  /* the store refused it */
	uint64_t unread_bytes; /* of its recorder, when it died */
	uint64_t committed;  /* the newest of its frames that is */
	struct control_state control;
};

/*
 * A process that says Hello for the first time. Takes ownership of @memfd and @pidfd on
 * success only; @hello is copied. -ENOMEM.
 */
int instance_new(struct session *session, const struct instance_identity *identity, int memfd,
	int pidfd, const uint8_t *hello, size_t bytes, struct instance **ret);

/*
 * A process of an earlier life of the collector: waits for its Hello, or for its death. Nobody
 * has its recorder until then. -ENOMEM.
 */
int instance_new_left(struct session *session, const struct instance_identity *identity,
	uint64_t process_id, bool is_this_boot);

/* It was left, and here is its Hello. Takes @memfd as instance_new(). -ENOMEM. */
int instance_adopt(struct instance *instance, int memfd, const uint8_t *hello, size_t bytes);

/* It came (back) over @peer: the older connection is closed, Welcome follows. -ENOMEM. */
int instance_attach(struct instance *instance, struct peer *peer);

/* Its connection has ended. */
void instance_detach_peer(struct instance *instance);

/* How many bytes its connection may still send. */
size_t instance_room(struct instance *instance);

/* Whole frames of its connection, with prefixes. */
void instance_take_frames(struct instance *instance, const uint8_t *frames, size_t bytes);

/* It has ended (exec), or nobody waits for it (detached): drain it. */
void instance_end(struct instance *instance, enum instance_end how);

/* The collector ends: what is dead already is drained now, its recorder will be gone. */
void instance_end_dead(struct instance *instance);

/* An answer of the store for it. */
void instance_answer(struct instance *instance, const struct store_answer *answer);

/* The same instance: pid and start time by the kernel's word, and the token. */
bool instance_is_same(const struct instance_identity *a, const struct instance_identity *b);

/* It was let go of while it lived. */
bool instance_was_detached(const struct instance *instance);

bool instance_is_live(const struct instance *instance);

/* connected | away | exited | killed | ... */
const char *instance_state_name(const struct instance *instance);

/* Returns NULL. */
struct instance *instance_free(struct instance *instance);

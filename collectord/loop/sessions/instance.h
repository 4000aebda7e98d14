/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * One instance of the shim, which is one process until it calls exec: (boot id, pid, start time,
 * token). It lives as long as the kernel says so, over any number of connections. A hang-up does
 * not end it. It ends when its pidfd becomes readable, or when a Hello of the same pid has another
 * token (exec). Then the store drains its recorder. Loop thread.
 *
 *   OPENING -> STREAMING <-> AWAY -> DYING (how did it end?) -> DRAINING -> ENDED
 */
#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "collectord/loop/sessions/recording_control.h"

struct peer;
struct server;
struct session;
struct store_answer;
struct store_process;

#define INSTANCE_TOKEN_BYTES 16u

enum instance_state {
	INSTANCE_OPENING, /* the store has not answered yet */
	INSTANCE_STREAMING,
	INSTANCE_AWAY,	/* alive, not connected */
	INSTANCE_DYING, /* the collector is finding out its exit status */
	INSTANCE_DRAINING,
	INSTANCE_ENDED, /* no more answers come; kept for the counts of its session */
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
	struct instance *next;		 /* in its session */
	struct instance *next_in_bucket; /* used by instances.c */
	struct instance_identity identity;
	enum instance_state state;
	enum instance_end end;
	int memfd;		  /* the recorder; the store owns it from the drain on */
	int pidfd;		  /* -1: the kernel has none, so /proc is polled */
	struct event *death;	  /* on the pidfd, or a timer */
	struct event *exit_timer; /* retries the exit status, then the command to the store */
	unsigned exit_tries;
	int exit_status;	     /* as a shell reports it; -1: unknown */
	struct peer *peer;	     /* NULL: away */
	struct store_process *store; /* NULL: known from an earlier collector, and not
				      * reconnected yet */
	uint64_t left_id;	     /* then its rtl_process.id */
	bool is_open_pending;	     /* no connection gets a Welcome before the store answers */
	bool had_peer;
	bool is_kept;  /* the keeper holds its recorder */
	bool was_kept; /* taken over from the keeper; an earlier collector has stored part of it */
	bool is_welcomed;      /* the current connection has got its Welcome */
	bool is_failed;	       /* the store refused it */
	uint64_t unread_bytes; /* size of its recorder when the process ended */
	uint64_t committed;    /* the number of its newest committed frame */
	struct control_state control;
};

/*
 * Makes the instance of a process that says Hello for the first time. Takes ownership of @memfd and
 * @pidfd on success only; copies @hello. -ENOMEM.
 */
int instance_new(struct session *session, const struct instance_identity *identity, int memfd,
	int pidfd, const uint8_t *hello, size_t bytes, struct instance **ret);

/*
 * Makes the instance of a process that an earlier collector served. It waits for the Hello of the
 * process, or for its end; until the Hello the collector has no recorder for it. -ENOMEM.
 */
int instance_new_left(struct session *session, const struct instance_identity *identity,
	uint64_t process_id, bool is_this_boot);

/*
 * Handles the Hello of an instance made by instance_new_left(). Takes @memfd as instance_new()
 * does. -ENOMEM.
 */
int instance_adopt(struct instance *instance, int memfd, const uint8_t *hello, size_t bytes);

/*
 * Links the process to its connection @peer. An older connection is closed; Welcome follows.
 * -ENOMEM.
 */
int instance_attach(struct instance *instance, struct peer *peer);

/* Called when its connection has ended. */
void instance_detach_peer(struct instance *instance);

/* Number of bytes that its connection may still send. */
size_t instance_room(struct instance *instance);

/* Takes whole frames of its connection, with their length prefixes. */
void instance_take_frames(struct instance *instance, const uint8_t *frames, size_t bytes);

/* Drains the process, which has called exec or is being detached. */
void instance_end(struct instance *instance, enum instance_end how);

/*
 * Called when the collector ends: drains the instance now if its process is dead, because its
 * recorder would be lost.
 */
void instance_end_dead(struct instance *instance);

/* Handles an answer of the store that concerns this instance. */
void instance_answer(struct instance *instance, const struct store_answer *answer);

/* True if pid, uid and start time, as the kernel reports them, and the token are equal. */
static inline bool instance_is_same(
	const struct instance_identity *a, const struct instance_identity *b)
{
	return a->pid == b->pid && a->uid == b->uid && a->start_time == b->start_time &&
	       !memcmp(a->token, b->token, sizeof(a->token));
}

/* True if its session was closed while it lived. */
bool instance_was_detached(const struct instance *instance);

static inline bool instance_is_live(const struct instance *instance)
{
	return instance->state < INSTANCE_DYING;
}

/* connected | away | exited | killed | ... */
const char *instance_state_name(const struct instance *instance);

/* Returns NULL. */
struct instance *instance_free(struct instance *instance);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The loop: accepts connections within limits, tells from the first frame what a peer is, and
 * hands the store's answers to their owners. Everything here and in peer, session, process,
 * shim_peer, runner and tool runs on this one thread and never touches a disk.
 */
#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collectord/loop/connect_limits.h"
#include "collectord/loop/instances.h"
#include "collectord/loop/other_users.h"
#include "collectord/loop/receiver.h"
#include "collectord/loop/request_limits.h"
#include "proto/wire/frame.h"
#include "proto/base/limits.h"
#include "proto/wire/msg.h"

struct config;
struct ctl_wait;
struct detached;
struct listen_sockets;
struct peer;
struct instance;
struct asking;
struct removed;
struct seat;
struct seated;
struct session;
struct store;
struct store_answer;

#define SERVER_LISTENERS_MAX  8u
#define SERVER_RECEIVED_BYTES (FRAME_BYTES_MAX + FRAME_PREFIX_BYTES)

/* What there is no memory for, and must be done, is tried again so soon. */
#define MEMORY_TRY_MS 100u

/* One answer of store_flush(): what to do then. Owned by whoever asked, until @done. */
struct flush_ticket {
	void (*done)(struct flush_ticket *ticket, int error); /* not all is committed: -errno */
	void *data;
};

struct server {
	struct event_base *base;
	const struct config *config;
	struct store *store; /* borrowed */
	struct listen_sockets *sockets; /* borrowed: the kept recorders are taken out of it */
	struct event *listeners[SERVER_LISTENERS_MAX];
	int listener_fds[SERVER_LISTENERS_MAX];
	size_t n_listeners;
	struct event *answers;	/* the store's eventfd */
	struct event *reaper;	/* frees ended peers */
	struct event *throttle; /* accepts again after a pause */
	struct event *keep_retry; /* recorders whose keeper was busy */
	bool has_said_unkept;
	struct kept_left *kept_left; /* what it is still to be told to let go; fd_store.c */
	unsigned n_kept_left;
	struct event *signals;
	int signal_fd;
	struct event *watchdog;
	struct flush_ticket watchdog_ticket;
	bool is_watchdog_asked; /* its answer is still to come */
	uint64_t watchdog_beats; /* of the store, when it was looked at last */
	int waiting_fd; /* accepted, and there was no memory for its peer; -1: none */
	int spare_fd; /* given up to accept and close one connection when there are no fds */
	bool is_throttled;
	bool is_recovering; /* nobody is let in before all that was left open is known */
	bool is_settling;
	bool hides_uids;  /* in our user namespace others may be shown as hidden_uid */
	uid_t hidden_uid;
	gid_t see_all_gid;	/* (gid_t)-1: no such group */

	struct receiver receiver; /* of what peers pass */
	uint8_t *received; /* what a shim sends now: one for all of them, peer.c */
	struct peer *peers; /* live */
	struct peer *dead;  /* ended, to be freed by the reaper */
	unsigned n_peers;
	struct arrivals arrivals;

	struct session *sessions; /* newest first */
	struct instances instances; /* of all of them */
	struct ctl_wait *ctl_waits; /* rtl ctl start and stop that are under way; ctl.c */
	uint64_t control_seq;	  /* the highest given */
	struct detached *detached;
	struct requests requests;
	struct removed *removed; /* sessions whose files went, newest first */
	struct session *private_session;
	struct other_users other_users; /* of its job */
	struct msg_arena arena; /* for first frames and requests */
	unsigned n_degraded; /* sessions that cannot be stored now */

	struct seated *seated;	/* a worker of the service; NULL: a collector by itself */
	unsigned n_questions;	/* connections of other workers, among the peers */
	struct asking *askings; /* of tools, that other workers answer; all_tenants.c */
	uint64_t askings_ever;

	bool is_stopping;
	int exit_code;
	bool is_flushed; /* while stopping: everything is committed */
	struct flush_ticket stop_ticket;
	struct event *stop_deadline;
	struct event *stop_flush; /* once there is memory to ask for it */
	uint64_t accepted; /* connections ever */
};

/* Before anything is left behind: what tells us to end waits for the loop. Main thread, once. */
void server_block_signals(void);

/* @sockets' fds are borrowed. @store: answers are consumed here. -ENOMEM. */
int server_new(const struct config *config, struct listen_sockets *sockets,
	struct store *store, struct server **ret);

/* From here on it is the worker of one tenant: before server_run(), with no sockets of its own.
 * @seat is borrowed. -ENOMEM. */
int server_sit(struct server *server, const struct seat *seat);

/* Takes in what lies in the door. */
void server_take_arrived(struct server *server);

/* A tool that may see all is at the other end of @fd; takes it over. */
void server_take_question(struct server *server, int fd);

/* Runs until SIGTERM, or until the private session is closed. The exit code. */
int server_run(struct server *server);

/* Commit everything, tell everybody, leave server_run(). */
void server_stop(struct server *server, int exit_code);

/* Closes every connection and frees sessions. Call before store_free(). Returns NULL. */
struct server *server_free(struct server *server);

/* From peer.c. */
void server_greet(struct server *server, struct peer *peer, const uint8_t *frame, size_t bytes);
void server_peer_ended(struct server *server, struct peer *peer);

/*
 * Take in what has arrived but was not looked at. True: no connection of @uid waits to say who
 * it is, so a session of @uid may be judged complete. *@ticket is the caller's, 0 at first: a
 * worker asks the supervisor, and calls session_settled() once it knows. NULL: it does not ask.
 */
bool server_is_settled(struct server *server, uid_t uid, uint64_t *ticket);

#define SERVER_STATE_BYTES 512
/* Of what @peer may see: "ok", or "degraded: SESSION: why (and 2 more)". Returns @ret. */
const char *server_state(
	const struct server *server, struct peer *peer, char ret[SERVER_STATE_BYTES]);

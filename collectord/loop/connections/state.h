/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The state of the loop, which all its files share. Each member belongs to the file that its
 * comment or its name tells; loop thread only.
 */
#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collectord/loop/connections/peer_limits.h"
#include "collectord/loop/connections/receiver.h"
#include "collectord/service/container.h"
#include "proto/base/limits.h"
#include "proto/wire/frame.h"
#include "proto/wire/msg.h"

struct config;
struct ctl_wait;
struct detached;
struct listen_sockets;
struct peer;
struct instance;
struct asking;
struct instances;
struct kept_session;
struct other_users;
struct removed;
struct seat;
struct seated;
struct session;
struct store;
struct store_answer;

#define SERVER_LISTENERS_MAX  8u
#define SERVER_RECEIVED_BYTES (FRAME_BYTES_MAX + FRAME_PREFIX_BYTES)

/* Interval at which work that failed for lack of memory is retried. */
#define MEMORY_TRY_MS 100u

/*
 * What to do when store_flush() answers. The caller of store_flush() owns it, and keeps it until
 * @done.
 */
struct flush_ticket {
	void (*done)(struct flush_ticket *ticket, int error); /* -errno if not everything is
							       * committed */
	void *data;
};

/* What the folders below ask of the loop. */
struct server_calls {
	/* Handles the first frame of @peer. */
	void (*greet)(struct server *server, struct peer *peer, const uint8_t *frame, size_t bytes);
	/* The connection of @peer has ended. */
	void (*peer_ended)(struct server *server, struct peer *peer);
	/*
	 * Processes what has arrived but was not read. Returns true if every connection of @uid has
	 * sent its first frame, so that a session of @uid may be judged complete. *@ticket belongs
	 * to the caller and is 0 at first: a worker asks the supervisor, and calls
	 * session_settled() when the answer is there. With NULL the supervisor is not asked.
	 */
	bool (*is_settled)(struct server *server, uid_t uid, uint64_t *ticket);
	/* Commits everything, sends what is queued for the peers, and leaves server_run(). */
	void (*stop)(struct server *server, int exit_code);
	/* A process has reported its state to record or not, or has gone. */
	void (*control_changed)(struct server *server);
};

struct server {
	const struct server_calls *calls; /* constant */
	struct event_base *base;
	const struct config *config;
	struct store *store;		/* borrowed */
	struct listen_sockets *sockets; /* borrowed; kept recorders are taken out of it */
	struct event *listeners[SERVER_LISTENERS_MAX];
	int listener_fds[SERVER_LISTENERS_MAX];
	size_t n_listeners;
	struct event *answers;	  /* the store's eventfd */
	struct event *reaper;	  /* frees ended peers */
	struct event *throttle;	  /* ends the pause of accepting */
	struct event *keep_retry; /* retries what the keeper was too busy to take */
	bool has_said_unkept;
	struct kept_left *kept_left; /* removals that the keeper has not taken yet; fd_store.c */
	unsigned n_kept_left;
	struct event *signals;
	int signal_fd;
	struct event *watchdog;
	struct flush_ticket watchdog_ticket;
	bool is_watchdog_asked;	 /* the store has not answered yet */
	uint64_t watchdog_beats; /* the store's count at the last check */
	unsigned arriving;	 /* enum channel_peer, of the connection that a worker admits */
	unsigned waiting_known;	 /* that of ... */
	int waiting_fd;		 /* accepted, but no memory for its peer; -1: none */
	int spare_fd; /* closed to accept and drop one connection when descriptors are exhausted */
	bool is_throttled;
	bool is_recovering; /* no connection is accepted until every session left open is known */
	bool is_settling;
	bool hides_uids; /* our user namespace may show unmapped uids as hidden_uid */
	uid_t hidden_uid;
	gid_t see_all_gid; /* (gid_t)-1: no such group */

	struct receiver receiver; /* for descriptors that peers pass */
	uint8_t *received;	  /* read buffer shared by all shims, see peer.c */
	struct peer *peers;	  /* live */
	struct peer *dead;	  /* ended; the reaper frees them */
	unsigned n_peers;
	struct peer_limits limits;

	struct session *sessions;    /* newest first */
	struct instances *instances; /* of all sessions */
	struct ctl_wait *ctl_waits;  /* requests of rtl ctl under way; ctl.c */
	uint64_t control_seq;	     /* the highest seq given */
	struct detached *detached;
	struct kept_session *kept; /* sessions that their owners keep */
	struct removed *removed; /* sessions whose files were removed, newest first */
	struct session *private_session;
	struct other_users *other_users; /* of the private session's job */
	struct msg_arena arena;		 /* for first frames and requests */
	unsigned n_degraded;		 /* sessions whose database cannot be written now */

	const struct seat *seat; /* of a worker of the service; NULL: a collector by itself */
	struct seated *seated;	 /* with `seat`; seated.c */
	char container[CONTAINER_NAME_BYTES]; /* that a worker serves; "": not known, or none */
	bool is_unreachable; /* the sockets of the service were, when the supervisor last checked */
	unsigned n_questions;	/* peers that are connections of other workers */
	struct asking *askings; /* requests of tools that other workers answer; all_tenants.c */
	uint64_t askings_ever;

	bool is_stopping;
	int exit_code;
	bool is_flushed; /* while stopping: everything is committed */
	struct flush_ticket stop_ticket;
	struct event *stop_deadline;
	struct event *stop_flush; /* retries the flush when memory ran out */
	uint64_t accepted;	  /* number of connections ever accepted */
};

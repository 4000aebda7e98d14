/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * One job on this node, keyed by (uid, job): which runners and processes hold it open, and when it
 * is closed (docs/protocol.md "Sessions"). Loop thread.
 *
 *   OPENING -> OPEN -> CLOSING -> CLOSED
 *           -> FAILED
 */
#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct peer;
struct instance;
struct instance_identity;
struct runner;
struct server;
struct store_answer;
struct store_session;

enum session_state {
	SESSION_OPENING,
	SESSION_OPEN,
	SESSION_CLOSING,
	SESSION_CLOSED, /* kept for a while: a late process re-opens its file */
	SESSION_FAILED,
};

struct session {
	struct server *server;
	struct session *next;
	uid_t uid;
	char *job;
	char *name;	/* a provisional name until the store reports the final one */
	char *database; /* NULL until it is open */
	char *command;
	enum session_state state;
	struct store_session *store; /* NULL once closed */
	struct instance *instances;
	unsigned n_instances, n_live, n_ended; /* counts of instances, maintained by instance.c */
	uint64_t unread_bytes;	/* in the recorders of dead processes that are not drained;
				 * maintained by instance.c */
	struct runner *runners; /* connected, including those that are done */
	unsigned n_runners;
	bool had_runner;
	bool had_unrecorded;	  /* a process without a recorder has connected */
	bool is_made;		  /* its file is new and exists, but is not open yet */
	bool is_widowed;	  /* a runner hung up without RunnerDone: its command may still
				   * run */
	bool was_left;		  /* an earlier collector ended before the session did */
	bool is_older;		  /* the job began before this file, with another one */
	bool is_past;		  /* from an earlier boot, or closed before the service started: no
				   * process joins it any more */
	bool wants_now;		  /* a runner does not wait for processes that still live */
	int exit_status;	  /* of the command, as a shell reports it; -1: unknown */
	struct control *controls; /* oldest first; NULL: none yet */
	unsigned n_controls;
	struct event *linger;
	uint64_t settle_ticket; /* server_calls.is_settled() */
	uint64_t start_realtime_ns;
	bool is_complete;
	char *line;	  /* the completeness line, once closed */
	char *trouble;	  /* why it cannot be stored now; NULL: it can */
	char *held;	  /* the reader that makes its WAL grow; NULL: none */
	char *over_quota; /* how its tenant exceeds its quota; NULL: it does not */
};

/*
 * Returns the open session of that key, or a new one, which resumes the file of a closed one.
 * -ENOMEM; -EDQUOT: the user has too many; -ESHUTDOWN: the collector ends. @command may be NULL. A
 * caller that then adds no process and no runner calls session_check().
 */
int session_get(struct server *server, uid_t uid, const char *job, const char *command,
	struct session **ret);

/* Opens the one session of a private collector. */
int session_open_private(struct server *server, struct session **ret);

/*
 * @id said Hello, so it is what its pid runs now. Ends every other live instance of that pid,
 * including those that an earlier collector left, as replaced by exec.
 */
void session_end_execed(struct server *server, const struct instance_identity *id);

/*
 * True if another instance of the pid of @id has said Hello: only that tells which of two came
 * later.
 */
bool session_has_successor(const struct server *server, const struct instance_identity *id);

/* Resumes a session that an earlier collector left open. */
void session_take_left(struct server *server, struct store_answer *answer);

/*
 * Restores a session that an earlier worker or an earlier service closed, so that tools can still
 * list it.
 */
void session_take_closed(struct server *server, struct store_answer *answer);

/* Called after a change: closes the session if neither a runner nor a process holds it open. */
void session_check(struct session *session);

/* Handles an answer of the store. May take the texts of @answer. */
void session_answer(struct session *session, struct store_answer *answer);

/* The file of a closed session was removed, so a late process starts a new one. */
void session_forget_file(struct server *server, const char *database);

/* The supervisor has answered server_calls.is_settled(): checks the sessions that wait for it. */
void session_settled(struct server *server);

/* Closes a private session after SIGTERM, without waiting for its runners and processes. */
void session_close_now(struct session *session);

unsigned session_live_instances(const struct session *session);

/* Number of runners whose command has not ended yet. */
unsigned session_waiting_runners(const struct session *session);
/* The live instances of all sessions. */
unsigned session_count_instances(const struct server *server);
/* Includes the instances that have ended, over all sessions that are remembered. */
unsigned session_count_all_instances(const struct server *server);
/* True if too many processes have ended and wait to be drained. */
bool session_has_many_unread(const struct server *server);

/* Returns NULL. Does not free the handle of the store, which is freed with the store. */
struct session *session_free(struct session *session);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * One job on this node, keyed by (uid, job): who holds it open, and when it is closed
 * (docs/protocol.md "Sessions"). Loop thread.
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
	SESSION_CLOSED, /* kept for a while: a latecomer re-opens its file */
	SESSION_FAILED,
};

struct session {
	struct server *server;
	struct session *next;
	uid_t uid;
	uid_t owner; /* whom that counts as: subordinate_uids.h */
	char *job;
	char *name;	/* ours until the store says the final one */
	char *database; /* NULL until it is open */
	char *command;
	enum session_state state;
	struct store_session *store; /* NULL once closed */
	struct instance *instances;
	unsigned n_instances, n_live, n_ended; /* of these; kept by instance.c */
	uint64_t unread_bytes; /* in recorders of the others; likewise */
	struct runner *runners;		       /* connected, also those that are done */
	unsigned n_runners;
	bool had_runner;
	bool had_unrecorded;	  /* a process without a recorder came, and was gone again */
	bool is_made;		  /* its file is there, new, and not open yet */
	bool is_widowed;	  /* a runner went without a word: its command may go on */
	bool was_left;		  /* an earlier life of the collector ended before it did */
	bool is_older;		  /* than its file says, which is another one than at its beginning */
	bool is_past;		  /* of an earlier boot: nobody joins it any more */
	bool wants_now;		  /* a runner does not wait for what still lives */
	int exit_status;	  /* of the command, as a shell says it; -1 unknown */
	struct control *controls; /* oldest first; NULL: none ever */
	unsigned n_controls;
	struct event *linger;
	uint64_t settle_ticket; /* server_is_settled() */
	uint64_t start_realtime_ns;
	bool is_complete;
	char *line;	  /* the completeness line, once closed */
	char *trouble;	  /* why it cannot be stored now; NULL: it can */
	char *held;	  /* who makes its log grow; NULL: nobody */
	char *over_quota; /* of what its tenant has more than it may; NULL: of nothing */
};

/*
 * The open session of that key, or a new one (re-opening the file of a closed one). -ENOMEM;
 * -EDQUOT: too many of this uid. @command may be NULL. Who then does not join says so by
 * session_check().
 */
int session_get(struct server *server, uid_t uid, const char *job, const char *command,
	struct session **ret);

/* The private collector's one session. */
int session_open_private(struct server *server, struct session **ret);

/*
 * @id said Hello: it is what its pid runs now. Whatever else of that pid is taken for live, also
 * what an earlier life of the collector left, ended by exec.
 */
void session_end_execed(struct server *server, const struct instance_identity *id);

/* Has what exec replaced @id by said Hello already? Only that tells which of two came later. */
bool session_has_successor(const struct server *server, const struct instance_identity *id);

/* What the store found of an earlier life of the collector. */
void session_take_left(struct server *server, struct store_answer *answer);

/* What an earlier worker of the tenant closed, and would still tell of. */
void session_take_closed(struct server *server, struct store_answer *answer);

/* Something has changed: close it if nobody holds it open. */
void session_check(struct session *session);

/* An answer of the store for it; its texts may be taken. */
void session_answer(struct session *session, struct store_answer *answer);

/* The file of a closed session is gone: who comes late finds none. */
void session_forget_file(struct server *server, const char *database);

/* What server_is_settled() had to wait for is there. */
void session_settled(struct server *server);

/* SIGTERM of a private collector: wait for nobody. */
void session_close_now(struct session *session);

unsigned session_live_instances(const struct session *session);

/* Runners whose command has not ended yet. */
unsigned session_waiting_runners(const struct session *session);
/* session_shares.c */
unsigned session_count_instances(const struct server *server, uid_t owner);
/* With those that have ended, of all sessions that are remembered. */
unsigned session_count_all_instances(const struct server *server, uid_t owner);
/* That have ended, and wait to be drained: half of what the others leave of UNREAD_PROCESSES_MAX, and of
 * UNREAD_BYTES_MAX. Who has none has room. */
bool session_has_many_unread(const struct server *server, uid_t owner);
/* Of the open ones for one more: half of what the others leave. 0 or -EDQUOT. */
int session_check_room(const struct server *server, uid_t owner);

/* Returns NULL. The store's handle is not freed: the store ends with it. */
struct session *session_free(struct session *session);

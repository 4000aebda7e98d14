/* SPDX-License-Identifier: MIT */
#pragma once
/* What the files of the supervisor share. One thread. */
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collectord/channel/channel.h"
#include "collectord/channel/ledger.h"
#include "collectord/supervisor/supervisor.h"

/* Workers at once: each is a process with a thread, 256 of them fit into the unit's TasksMax. One
 * that has nothing open makes way. */
#define WORKERS_MAX	 256u
/* Workers that are started without a connection that wants them, at once. */
#define WORKERS_EARLY	 16u
/* A worker whose loop says nothing for so long is given up. */
#define GIVE_UP_NS	 10000000000ull
/* One that was killed or failed is started again after that, doubling, but for one that has lived
 * for RETRY_NS_MAX. Who connects meanwhile waits for it, up to REFUSE_NS. */
#define RETRY_NS_MIN	 20000000ull
#define RETRY_NS_MAX	 10000000000ull
#define REFUSE_NS	 1000000000ull
/* An acceptor that closes a connection for so long hangs, and another one takes its place. */
#define HANG_NS		 100000000ull
/* Those that hang and the one that accepts: a bit of a word each. */
#define ACCEPTORS_MAX	 64u
/* Recorders that are kept for a tenant: half of all, so that no tenant keeps out the others. */
#define KEPT_TENANT_MAX	 (KEPT_RECORDERS_MAX / 2u)
/* Told to end, the service has ended after that, whoever does not answer. */
#define STOP_NS		 4000000000ull
/* The index writer is started again after that at the earliest. */
#define INDEXER_RETRY_NS 1000000000ull
/* Of one process, before the others are heard. */
#define MESSAGES_AT_ONCE 64u
#define TICK_MS		 1000
#define BUSY_TICK_MS	 50

enum worker_state {
	WORKER_NONE,	 /* no process */
	WORKER_STARTING, /* looks for what was left open */
	WORKER_READY,
	WORKER_LEAVING, /* has asked; acceptors forget its door */
	WORKER_GOING,	/* was told to go */
	WORKER_STUCK,	/* was killed, and has not ended */
};

/* A recorder that outlives the worker that was given it. */
struct kept {
	struct kept *next;
	int fd;	       /* -1: it is let go of, and our own keeper is still to hear that */
	bool is_known; /* to whoever started us */
	char name[CHANNEL_NAME_BYTES];
};

/* A tenant, from when it was first heard of. */
struct worker {
	struct worker *next;
	uid_t owner;
	enum worker_state state;
	pid_t pid;
	int channel; /* -1: none */
	int door;
	struct ledger_tenant *page;
	bool is_wanted;	    /* an acceptor waits for its door */
	bool is_to_start;   /* it left something open */
	bool has_been_told; /* that it is refused */
	bool was_refused;   /* connections of it were closed since it ended */
	bool is_unlisted;   /* the index writer is still to be told that all is to be copied */
	bool is_settling;
	uint64_t settle_number;
	uint64_t round; /* in which it wants to hear that all has been accepted for it ... */
	uint64_t waits; /* ... by these acceptors, a bit each; with no bit left it is told */
	uint64_t started_ns;
	uint64_t retry_ns; /* CLOCK_MONOTONIC: not started before */
	uint64_t backoff_ns;
	struct kept *kept;
	unsigned n_kept;
};

struct acceptor {
	pid_t pid; /* 0: not in use */
	int channel;
	bool hangs;
	uint64_t closing_ns; /* since when; 0: it does not close */
};

/* The index writer. */
struct indexer {
	pid_t pid;	   /* 0: none */
	int channel;	   /* -1: none, or it was told to end */
	uint64_t retry_ns; /* CLOCK_MONOTONIC: not started before */
};

struct supervisor {
	const struct config *config;
	struct listen_sockets *sockets;
	supervisor_work work;
	int reserve; /* -1: none */
	uint64_t since_realtime_ns;
	struct ledger *ledger;
	int signal_fd;
	struct worker *workers;
	unsigned n_workers; /* with a process */
	struct acceptor acceptors[ACCEPTORS_MAX];
	unsigned next_hanging; /* whose place is taken when there is none */
	uint64_t acceptor_retry_ns;
	struct indexer indexer;
	uint64_t round;
	uint64_t
		watchdog_ns; /* how often our own keeper is told that we live; 0: it does not ask */
	uint64_t fed_ns;
	uint64_t watched_ns; /* when workers were looked at, and ... */
	uint64_t awake_ns;   /* ... since when that is done as often as it should be */
	bool has_unsaid;     /* our own keeper was busy */
	bool is_stopping;
	uint64_t stop_ns;
	int exit_code;
};

/* ---- process.c -------------------------------------------------------------------------- */

/*
 * Forks. In the child all descriptors are closed but the standard ones and @keep (sorted here), and
 * it ends with the supervisor where @is_disposable. The pid, 0 in the child, or -errno.
 */
pid_t process_fork(int *keep, size_t n, bool is_disposable);

/* Where memory is short it ends before the supervisor and what others run. */
void process_expose(void);

/* ---- workers.c -------------------------------------------------------------------------- */

/* The tenant of that owner, made where it is new. NULL: no memory, or too many. */
struct worker *workers_find(struct supervisor *s, uid_t owner);

/* Who has a folder in the store, and for whom recorders are kept, may have left something open. */
int workers_find_left(struct supervisor *s);

/* Starts those that are to be started. */
void workers_start(struct supervisor *s);

/* An acceptor wants the door of @owner. */
void workers_want_door(struct supervisor *s, struct acceptor *acceptor, uid_t owner);

/* Of what acceptor @index was asked for some worker; what it is asked when it has just begun; and
 * it is none any more. */
void workers_accepted(struct supervisor *s, unsigned index, const struct channel_message *message);
void workers_tell_newcomer(struct supervisor *s, struct acceptor *acceptor);
void workers_forget_acceptor(struct supervisor *s, unsigned index);

/* @worker has said something, or has closed its channel. */
void workers_hear(struct supervisor *s, struct worker *worker);

/* False: @pid is none of theirs. */
bool workers_ended(struct supervisor *s, pid_t pid, int status);

/* Who says nothing is given up. */
void workers_watch(struct supervisor *s, uint64_t now_ns);

void workers_stop(struct supervisor *s);
/* Some have not ended, others than those that were given up. */
bool workers_are_open(const struct supervisor *s);
/* Those; what they had not committed is missing. */
void workers_kill(struct supervisor *s);
void workers_done(struct supervisor *s);

/* ---- acceptors.c ------------------------------------------------------------------------ */

/* One that accepts, where there is none. */
void acceptors_start(struct supervisor *s);
bool acceptors_are_there(const struct supervisor *s);
/* Tells each; a bit for each that was told. */
uint64_t acceptors_tell(struct supervisor *s, const struct channel_message *message, int fd);
void acceptors_hear(struct supervisor *s, struct acceptor *acceptor);
bool acceptors_ended(struct supervisor *s, pid_t pid);
void acceptors_watch(struct supervisor *s, uint64_t now_ns);
void acceptors_stop(struct supervisor *s);

/* ---- keeper.c --------------------------------------------------------------------------- */

/* Takes @fd over, always. @is_known: it was passed to us. */
void keeper_keep(
	struct supervisor *s, struct worker *worker, int fd, const char *name, bool is_known);
void keeper_drop(struct supervisor *s, struct worker *worker, const char *name);
/* What our own keeper was too busy to hear. */
void keeper_retry(struct supervisor *s);
void keeper_free(struct worker *worker);

/* ---- indexer.c -------------------------------------------------------------------------- */

/* One that writes the node's index, where there is none. It copies anew what all tenants' say. */
void indexer_start(struct supervisor *s);
/* The index of @worker says something else of @database, relative to the store; "": of all. */
void indexer_tell(struct supervisor *s, struct worker *worker, const char *database);
/* Who is at the other end of @fd, which stays the caller's, is told what the node's index says.
 * -EAGAIN, -EPIPE: it cannot be asked now. */
int indexer_ask(struct supervisor *s, int fd);
/* What could not be told so far. */
void indexer_retry(struct supervisor *s);
/* False: @pid is another one's. */
bool indexer_ended(struct supervisor *s, pid_t pid, int status);
/* It copies what it was told, and ends. */
void indexer_stop(struct supervisor *s);
void indexer_kill(struct supervisor *s);

/* ---- index_answer.c --------------------------------------------------------------------- */

struct index;

/* To @fd a SessionsReply: what @index, of the node, says of sessions that were closed since then,
 * and of those that were removed. */
void index_answer(struct index *index, uint64_t since_realtime_ns, int fd);

/* ---- index_writer.c --------------------------------------------------------------------- */

/* The life of an index writer. */
_Noreturn void index_writer_run(const struct config *config, int channel);

/* ---- acceptor.c ------------------------------------------------------------------------- */

/* The life of an acceptor. */
_Noreturn void acceptor_run(const struct supervisor *s, int channel);

/* SPDX-License-Identifier: MIT */
#pragma once
/* Shared by the files of the supervisor. One thread. */
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collectord/channel/channel.h"
#include "collectord/channel/ledger.h"
#include "collectord/service/container.h"
#include "collectord/supervisor/limits.h"
#include "collectord/supervisor/supervisor.h"

#define TICK_MS	     1000
#define BUSY_TICK_MS 50

enum worker_state {
	WORKER_NONE,	 /* no process */
	WORKER_STARTING, /* finds what was left open */
	WORKER_READY,
	WORKER_LEAVING, /* has asked to go; the acceptors are closing its door */
	WORKER_GOING,	/* was told to go */
	WORKER_STUCK,	/* was killed, but has not ended */
};

/* A recorder that outlives the worker that passed it. */
struct kept {
	struct kept *next;
	int fd;	       /* -1: dropped, but the service manager still has to be told */
	bool is_known; /* the service manager holds it, ... */
	bool is_own;   /* ... or will not, since it holds enough of this tenant's */
	char name[CHANNEL_NAME_BYTES];
};

/* A tenant, from its first connection or stored session on. */
struct worker {
	struct worker *next;
	uid_t owner;
	char container[CONTAINER_NAME_BYTES]; /* "": none, or not known yet */
	enum worker_state state;
	pid_t pid;
	int channel; /* -1: none */
	/*
	 * The end that the acceptors write to, and the one that the worker reads from. Both stay
	 * open when a worker dies, so that the next one has the connections that lie in the door,
	 * with the recorders of ranks that are dead by then. -1: there is no door.
	 */
	int door;
	int door_exit;
	struct ledger_tenant *page;
	bool is_wanted;	    /* an acceptor waits for its door */
	bool is_to_start;   /* it left something open, so it is started without a connection */
	bool has_been_told; /* the refusal of the tenant was logged */
	bool was_refused;   /* connections of the tenant were closed since its worker ended */
	bool is_unlisted;   /* the index writer still has to be told to copy its whole index */
	bool is_stale;	    /* it still has to be told to read the configuration again */
	bool is_settling;
	uint64_t settle_number;
	uint64_t round; /* the round for which it waits until all connections are accepted ... */
	uint64_t waits; /* ... with a bit for each acceptor that has not confirmed; it is told
			 * when no bit is left */
	uint64_t started_ns;
	uint64_t retry_ns; /* CLOCK_MONOTONIC; not started before */
	uint64_t backoff_ns;
	struct kept *kept;
	unsigned n_kept;
	unsigned n_passed; /* those of them that the service manager holds or is to hold */
};

struct acceptor {
	pid_t pid; /* 0: not in use */
	int channel;
	bool hangs;
	uint64_t closing_ns; /* when it began to close a connection; 0: it is not closing */
};

/* The process that writes the index of the node. */
struct indexer {
	pid_t pid;	   /* 0: none */
	int channel;	   /* -1: none, or closed to make it end */
	uint64_t retry_ns; /* CLOCK_MONOTONIC; not started before */
};

struct supervisor {
	const struct config *config; /* as it was given, or: */
	struct config *reloaded;     /* owned; NULL: not yet */
	struct listen_sockets *sockets;
	supervisor_work work;
	int reserve; /* passed to each worker; -1: none */
	uint64_t since_realtime_ns;
	struct ledger_pages *ledger;
	int signal_fd;
	struct worker *workers;
	unsigned n_workers;	   /* that have a process */
	unsigned n_kept, n_passed; /* sums over all of them */
	struct acceptor acceptors[ACCEPTORS_MAX];
	unsigned next_hanging; /* the place that is reused when all are taken */
	uint64_t acceptor_retry_ns;
	struct indexer indexer;
	uint64_t round;
	uint64_t
		watchdog_ns; /* interval of the watchdog messages to the service manager; 0: none */
	uint64_t fed_ns;
	uint64_t watched_ns; /* last time that the workers were checked, and ... */
	uint64_t aged_ns;    /* last time that workers were started for old sessions */
	uint64_t awake_ns;   /* ... since when the checks were on time */
	bool has_unsaid;     /* the service manager was busy */
	bool is_stopping;
	uint64_t stop_ns;
	int exit_code;
};

/* ---- process.c -------------------------------------------------------------------------- */

/*
 * Forks. The child closes all descriptors except the standard ones and @keep, which it sorts, and
 * ends with the supervisor if @is_disposable. Returns the pid, 0 in the child, or -errno.
 */
pid_t process_fork(int *keep, size_t n, bool is_disposable);

/*
 * Makes the kernel kill this process before the supervisor and other programs when memory runs out.
 */
void process_expose(void);

/* ---- workers.c -------------------------------------------------------------------------- */

/*
 * Returns the tenant of @owner, a new one if necessary. NULL: out of memory, or too many tenants.
 */
struct worker *workers_find(struct supervisor *s, uid_t owner);

/*
 * Marks every tenant that has a directory in the store for a start: it may have left a session
 * open.
 */
int workers_find_left(struct supervisor *s);

/* Starts the workers that are wanted or marked for a start, within the limits. */
void workers_start(struct supervisor *s);

/* An acceptor requests the door of the tenant that @message names. */
void workers_want_door(
	struct supervisor *s, struct acceptor *acceptor, const struct channel_message *message);

/*
 * Tracks the rounds that acceptors confirm: acceptor @index has confirmed one; a new acceptor is
 * asked for all current rounds; acceptor @index is gone.
 */
void workers_accepted(struct supervisor *s, unsigned index, const struct channel_message *message);
void workers_tell_newcomer(struct supervisor *s, struct acceptor *acceptor);
void workers_forget_acceptor(struct supervisor *s, unsigned index);

/* Reads the channel of @worker, which may be closed. */
void workers_hear(struct supervisor *s, struct worker *worker);

/* Returns false if @pid is not a worker. */
bool workers_ended(struct supervisor *s, pid_t pid, int status);

/* True if closed sessions are removed by age. */
bool workers_age(const struct supervisor *s);

/* Kills the workers that show no sign of life, and starts those that are due. */
void workers_watch(struct supervisor *s, uint64_t now_ns);

/* Has the workers read the configuration again. A new worker has s->config. */
void workers_reload(struct supervisor *s);

void workers_stop(struct supervisor *s);
/* True if a worker has not ended, not counting those that were given up. */
bool workers_are_open(const struct supervisor *s);
/* Gives those workers up. What they had not committed stays in the recorders. */
void workers_give_up(struct supervisor *s);
void workers_done(struct supervisor *s);

/* ---- acceptors.c ------------------------------------------------------------------------ */

/* Starts an acceptor if none accepts. */
void acceptors_start(struct supervisor *s);
bool acceptors_are_there(const struct supervisor *s);
/* Sends @message to each acceptor; returns a bit for each one that was sent it. */
uint64_t acceptors_tell(struct supervisor *s, const struct channel_message *message, int fd);
void acceptors_hear(struct supervisor *s, struct acceptor *acceptor);
bool acceptors_ended(struct supervisor *s, pid_t pid);
void acceptors_watch(struct supervisor *s, uint64_t now_ns);
void acceptors_stop(struct supervisor *s);

/* ---- keeper.c --------------------------------------------------------------------------- */

/*
 * Takes ownership of @fd in every case. @is_known: the service manager passed the recorder to us.
 */
void keeper_keep(
	struct supervisor *s, struct worker *worker, int fd, const char *name, bool is_known);
void keeper_drop(struct supervisor *s, struct worker *worker, const char *name);
/* Sends again what the service manager was too busy to take. */
void keeper_retry(struct supervisor *s);
void keeper_free(struct supervisor *s, struct worker *worker);

/* ---- indexer.c -------------------------------------------------------------------------- */

/* Starts an index writer if there is none. It copies the indexes of all tenants again. */
void indexer_start(struct supervisor *s);
/* The index of @worker has changed for @database, relative to the store; "": for any database. */
void indexer_tell(struct supervisor *s, struct worker *worker, const char *database);
/*
 * Has the index writer send its answer (index_answer()) to the other end of @fd, which the caller
 * keeps. -EAGAIN, -EPIPE: it cannot be asked now.
 */
int indexer_ask(struct supervisor *s, int fd);
/* Sends again what could not be sent. */
void indexer_retry(struct supervisor *s);
/* Returns false if @pid is not the index writer. */
bool indexer_ended(struct supervisor *s, pid_t pid, int status);
/* Closes the channel: the index writer copies what it was told, and ends. */
void indexer_stop(struct supervisor *s);
void indexer_kill(struct supervisor *s);

/* ---- index_answer.c --------------------------------------------------------------------- */

struct index;

/*
 * Sends a SessionsReply to @fd with the sessions in @index, the index of the node whose databases
 * lie below @store (node_index_folder()), that were closed or removed last.
 */
void index_answer(struct index *index, const char *store, int fd);

/* ---- index_writer.c --------------------------------------------------------------------- */

/* The main function of an index writer. */
_Noreturn void index_writer_run(const struct config *config, int channel);

/* ---- acceptor.c ------------------------------------------------------------------------- */

/* The main function of an acceptor. */
_Noreturn void acceptor_run(const struct supervisor *s, int channel);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The store: one thread, the only one that touches a disk. It owns every database, decodes
 * frames, inserts, commits and checkpoints. All functions here are called by the loop thread
 * and never wait for a disk; they put a command into a queue. Answers come back in order
 * through an eventfd. Statistics are copied out under a short lock that is never held over
 * I/O. Nothing here knows sockets.
 *
 * Handles. store_session_open() and store_process_open() return a handle at once; whether it
 * worked is said by an answer that carries the @owner given with it. Each handle gets exactly
 * one last answer (marked "last" below); the owner must stay valid until then. Handles stay
 * readable (statistics) until the loop frees the session, which frees its processes too.
 *
 *   session:  MADE*, LEFT_PROCESS*, CONTROLS?, CALLED?, OPENED   then  CLOSED (last)
 *             MADE*, FAILED (last)
 *   process:  PROCESS_OPENED (again after a reopen), COMMITTED*, BAD_FRAME*, ROOM*
 *                                                     then  PROCESS_ENDED (last)
 *             PROCESS_FAILED (last)
 *
 * A failed session fails each of its processes; those queued behind it get PROCESS_FAILED.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collectord/db/quota.h"

struct store;
struct store_session;
struct store_process;

/* ---- the thread ------------------------------------------------------------------------ */

struct subuids;

/* Of store_flush() and store_look(): the sessions of all. */
#define STORE_EVERYBODY ((uid_t)-1)

/*
 * Stores of other tenants on the same disk, each of which looks after its own: what each has, and
 * who is to give something back. Called by the store's thread; none of them waits.
 */
struct store_neighbours {
	void *data;
	uint64_t since_realtime_ns; /* what was closed since then is still told of: STORE_LEFT_CLOSED */
	int reserve;  /* of store_open_reserve(): room that is given up when there is none; -1: its
			 own */
	uid_t tenant; /* whose databases are ours to look after, as store_config.subuids counts */
	/* What ours take: of closed sessions, how many these are, and of the others. */
	void (*tell)(void *data, uint64_t closed_bytes, unsigned closed, uint64_t open_bytes);
	/* Calls @take with each of the others. */
	void (*each)(void *data,
		void (*take)(void *to, uid_t tenant, uint64_t closed_bytes, unsigned closed,
			uint64_t open_bytes),
		void *to);
	/* @tenant has most of all, and that is too much; @is_room: for those that store now. */
	void (*want_back)(void *data, uid_t tenant, bool is_room);
	/* Our index says something else now of @database, which is relative to its folder; NULL: of
	 * any. */
	void (*indexed)(void *data, const char *database);
};

struct store_config {
	/* Lists every session of the store, or of the tenant. NULL: none (private collector). */
	const char *index_path;
	/* Where the databases lie: room is kept there. NULL: nobody looks after it. */
	const char *folder;
	/* Below that records wait, and the disk counts as full. */
	uint64_t keep_free_bytes;
	/* How long the end of a process waits for a database that fails; 0: STORE_GIVE_UP_MS. */
	unsigned give_up_ms;
	struct quota_limits limits;
	/* Whom a uid counts as; NULL: as itself. Outlives the store. */
	const struct subuids *subuids;
	const struct store_neighbours *neighbours; /* NULL: there are none; outlives the store */
};

/* What all stores of a folder have as their reserve, to be closed by the caller; -1: there is none.
 */
int store_open_reserve(const char *folder);

/* What -errno of the store means to people. */
const char *store_explain(int error);

/*
 * Starts the thread, with all signals blocked in it. -ENOMEM, -EAGAIN, or what eventfd() says.
 */
int store_new(const struct store_config *config, struct store **ret);

/*
 * Commits what is queued, checkpoints, closes every database and joins the thread (a degraded
 * disk is tried once more, not for ever: what is not committed was not acknowledged and still
 * lies in the recorders). Sessions that were not closed stay open in their files, to be
 * resumed. Unread answers are dropped; handles not yet freed are freed. Returns NULL.
 */
struct store *store_free(struct store *store);

/* Readable when there are answers. Read by store_next_answer() itself; do not close. */
int store_answer_fd(const struct store *store);

/*
 * Commit all that was queued before of the sessions of @uid, each when its turn comes; then one
 * FLUSHED answer with @owner. -ENOMEM.
 */
int store_flush(struct store *store, uid_t uid, void *owner);

/* The same, and rtl_in_flight has what their processes have in flight now. -ENOMEM. */
int store_look(struct store *store, uid_t uid, void *owner);

/* Goes up with every step that the thread makes: one that stands still waits for us, or hangs. */
uint64_t store_beats(struct store *store);

/*
 * Look for sessions that an earlier life of the collector left open: in the file @path, or in
 * what the index names (NULL). Reads only, but for a file whose end was decided and which is
 * not yet one file. A LEFT_SESSION answer each, LEFT_FAILED for what cannot be read, then one
 * LEFT_DONE. -ENOMEM.
 */
int store_recover(struct store *store, const char *path);

/* Look now at what may go: neighbours have changed. @is_room: somebody stores, and needs it.
 * -ENOMEM. */
int store_give_back(struct store *store, bool is_room);

/* ---- sessions --------------------------------------------------------------------------- */

enum store_create {
	/*
	 * With path: the file must not exist (FAILED, -EEXIST).
	 * With dir: a name that is taken gets something behind it (NAME-2 to NAME-8, then when it
	 * began: NAME-20260102T030405.000000006); OPENED says the final one.
	 */
	STORE_NEW,
	/*
	 * With path: an existing file must be a database of ours and is continued; the session
	 * of that name, uid and job in it is re-opened, closed or not; a name that is another's
	 * gets a suffix as with STORE_NEW. Else the file is created.
	 * With dir: NAME, with whatever is behind it, is continued when it is an unclosed session of
	 * the same uid, job and boot (the collector was restarted); otherwise as STORE_NEW.
	 */
	STORE_RESUME,
};

/* All strings are copied. NULL is unknown. */
struct store_session_params {
	const char *name; /* shown to users; made safe for a file name by the store */
	const char *job;
	const char *command;
	const char *host;
	const char *path; /* the file; or NULL and ... */
	const char
		*dir; /* ... the service's state directory: DIR/UID/NAME.db, with an ACL for uid */
	uid_t uid;
	enum store_create create;
};

/*
 * Two sessions may name the same path (--db FILE): they share one database. -ENOMEM, -EINVAL.
 */
int store_session_open(struct store *store, const struct store_session_params *params, void *owner,
	struct store_session **ret);

/* What a runner that came after the session was opened knows. Copied; the first one stays,
 * whichever life of the collector was told. -ENOMEM. */
int store_session_command(struct store_session *session, const char *command);
/* The user's rules of categories, as RunnerHello has them, in place of those before. -ENOMEM. */
int store_session_categories(struct store_session *session, const char *text);

/*
 * Kept in the session's file while the session is open, for a later life of the collector: a few
 * lines of the caller's, which a session that is resumed gets back with CONTROLS. Replaces what was
 * kept before. Copied. -ENOMEM.
 */
int store_session_controls(struct store_session *session, const char *text);

/* So many of its processes could not be recorded, since they are of user @uid ((uid_t)-1: for another
 * reason); stored with its next commit. -ENOMEM. */
int store_session_unseen(struct store_session *session, unsigned processes, uid_t uid);

/*
 * Final counters, verdict, checkpoint, journal_mode=DELETE. Every process should have had its
 * PROCESS_ENDED before; one that has not is ended as STORE_ENDED_UNKNOWN without a recorder.
 * @exit_status: of the command as a shell would say it (0-255), or -1 unknown. -ENOMEM.
 */
int store_session_close(struct store_session *session, int exit_status);

/* The same, of one for which for a time nobody listened. Where not all its ranks are there it says
 * so, for who came and went then is not known. */
int store_session_close_unwatched(struct store_session *session, int exit_status);

/* After the session's last answer. Frees its process handles too. Returns NULL. */
struct store_session *store_session_free(struct store_session *session);

/* ---- processes -------------------------------------------------------------------------- */

/*
 * @hello: the Hello frame without its length prefix; takes ownership of it, always (malloc'ed).
 * @uid, @pid: the kernel's word; @start_time: field 22 of /proc/PID/stat as the collector read
 * it, 0: could not (the Hello's own is taken then).
 * A process that the database knows by (boot id, pid, start time, token) is continued.
 * -ENOMEM.
 */
int store_process_open(struct store_session *session, uint8_t *hello, size_t bytes, uid_t uid,
	pid_t pid, uint64_t start_time, void *owner, struct store_process **ret);

/*
 * The process came back with a new connection: forget that a frame was bad, and answer
 * PROCESS_OPENED with the last committed frame once everything queued before is committed.
 * -ENOMEM.
 */
int store_process_reopen(struct store_process *process);

/*
 * It lives, and this is its recorder: what it has in flight can be seen (rtl_in_flight). Takes
 * ownership of @memfd, always; checked as for store_process_end(). -ENOMEM.
 */
int store_process_watch(struct store_process *process, int memfd);

/*
 * Whole frames as received after the Hello, each with its length prefix, one after the other;
 * takes ownership of @frames, always (malloc'ed). Counters, anchors, defines and Bye go this
 * way too. After a BAD_FRAME everything is thrown away until store_process_reopen().
 * 0: go on. 1: taken, but the bound is reached (STORE_QUEUE_PROCESS_BYTES_MAX, or
 * STORE_QUEUE_BYTES_MAX of all): stop reading this connection until its ROOM answer.
 * -ENOMEM: not taken over, thrown away; close the connection.
 */
int store_process_frames(struct store_process *process, uint8_t *frames, size_t bytes);

/* Bytes till that bound. */
size_t store_process_room(struct store_process *process);

/* see store_process_left() */
struct store_left {
	uid_t uid;
	pid_t pid;
	uint64_t start_time;
	uint8_t token[16];
	bool is_this_boot;
};

/* Of a session whose file is gone. Times of CLOCK_REALTIME. */
struct store_removed {
	uid_t uid;
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t removed_ns;
	uint64_t stored; /* dispatches */
	uint64_t bytes;
};

enum store_ended {
	STORE_ENDED_EXITED,
	STORE_ENDED_KILLED,
	STORE_ENDED_EXEC,
	STORE_ENDED_UNKNOWN, /* how is not known */
	/*
	 * It still lives, but the session will not wait (RunnerDone.now): what is in flight is
	 * stored as outstanding, and it cannot come back to this database.
	 */
	STORE_ENDED_DETACHED,
};

/*
 * The process is dead (or detached): read the rest from its recorder, in one transaction.
 * Takes ownership of @memfd on success only; -1: there is none, its tail is unknown unless it said
 * Bye and all was committed. @exit_status: 0-255, 128+signal, -1 unknown. The caller has checked
 * seals and size of the memfd; the store believes nothing in it. -ENOMEM.
 */
int store_process_end(
	struct store_process *process, int memfd, enum store_ended how, int exit_status);

/*
 * A process that LEFT_PROCESS named has ended, and never said Hello to this collector: its tail
 * is unknown. PROCESS_ENDED, or PROCESS_FAILED, to @owner. -ENOMEM.
 */
int store_process_left(struct store_session *session, uint64_t process_id, enum store_ended how,
	int exit_status, void *owner, struct store_process **ret);

/* ---- answers ---------------------------------------------------------------------------- */

enum store_answer_kind {
	STORE_MADE,	      /* session, before its OPENED or FAILED: its new file is there */
	STORE_OPENED,	      /* session: name, database; text: a warning, or NULL */
	STORE_CONTROLS,	      /* session, before its OPENED: text of store_session_controls() */
	STORE_CALLED,	      /* session, before its OPENED: text = what its file says it runs */
	STORE_FAILED,	      /* session, last: error, text */
	STORE_CLOSED,	      /* session, last: complete, text = completeness line, database */
	STORE_PROCESS_OPENED, /* process: process_id, frame = last committed */
	STORE_PROCESS_FAILED, /* process, last: error (-EBADF: its session is not open), text; send
				 it as Refusal */
	STORE_PROCESS_ENDED,  /* process, last: frame */
	STORE_COMMITTED,      /* process: frame; send Ack */
	STORE_BAD_FRAME,      /* process: frame = last accepted, text; send Refusal, close */
	STORE_ROOM,	      /* process: read on */
	STORE_FLUSHED,	      /* owner of store_flush(); error: not everything is committed */
	STORE_DEGRADED, /* session: it cannot be stored now; error, text. Again when that changes */
	STORE_RECOVERED, /* session: after DEGRADED */
	STORE_HELD,	 /* session: a reader makes its log grow; text. Again when it has doubled */
	STORE_LET_GO,	 /* session: after HELD */
	STORE_OVER_QUOTA, /* session: its tenant stores more than it may; text. Again when that
				 changes */
	STORE_WITHIN_QUOTA, /* session: after OVER_QUOTA, at its close, too; text: what was granted */
	STORE_LEFT_SESSION, /* no owner: name, database, job, text = command, left.uid,
			       left.is_this_boot */
	STORE_LEFT_PROCESS, /* session, before its OPENED: process_id, left */
	STORE_LEFT_FAILED,  /* no owner: text */
	STORE_SET_ASIDE, /* no owner: a file that is damaged or not ours went out of the way; text
			  */
	STORE_CUT,	 /* no owner: a file has lost the end of what it acknowledged; text */
	STORE_REMOVED,	 /* no owner: a closed session; name, job, database, text = why, removed */
	STORE_KEPT,	 /* no owner: a closed session that should go, and must not; text */
	STORE_LEFT_CLOSED, /* no owner: name, database, job, text = command, line, left.uid, complete,
			    * removed.start_ns */
	STORE_LEFT_DONE,   /* no owner */
};

struct store_answer {
	enum store_answer_kind kind;
	void *owner;
	int error; /* -errno */
	bool complete;
	uint64_t process_id; /* rtl_process.id */
	uint64_t frame;
	char *text;	/* one line; owned by the answer */
	char *name;	/* owned by the answer */
	char *database; /* absolute path; owned by the answer */
	char *job;	/* owned by the answer; NULL: unknown */
	char *line;	/* owned by the answer; STORE_LEFT_CLOSED's */
	struct store_left left;
	struct store_removed removed;
};

/* 1: @ret is filled, to be ended with store_answer_done(); 0: none left. */
int store_next_answer(struct store *store, struct store_answer *ret);
void store_answer_done(struct store_answer *answer);

/* ---- live statistics: as of the last commit ---------------------------------------------- */

struct store_gpu_stat { /* one process x GPU, see StatRow */
	uint32_t gpu_id;
	uint64_t dispatched;
	uint64_t stored;
	uint64_t untimed;
	uint64_t dropped;
	uint64_t skipped;
	uint64_t outstanding;
	uint64_t torn;
	uint64_t pending;
	uint64_t busy_ns;
	uint64_t last_end_ns; /* 0: no timed dispatch yet */
};

struct store_process_stat {
	uint64_t process_id; /* 0: not opened yet */
	int64_t pid;
	bool has_rank;
	uint32_t rank;
	bool drained;
	uint32_t gpus; /* entries of gpu[] */
	char exe[256];
	struct store_gpu_stat gpu[64];
};

struct store_session_stat { /* see SessionInfo */
	bool closed;
	bool simulated;
	bool complete;
	uint32_t processes; /* in the database, earlier lives of the session included */
	uint64_t start_realtime_ns;
	uint64_t dispatched;
	uint64_t stored;
	uint64_t lost; /* completeness_lost() */
	bool missing;  /* completeness_is_missing() */
	uint64_t database_bytes;
	char line[512]; /* the completeness line so far */
};

void store_process_stat(const struct store_process *process, struct store_process_stat *ret);
/* Its rank alone, as far as it is found by now. False: it is not opened yet. */
bool store_process_rank(
	const struct store_process *process, bool *ret_has_rank, uint32_t *ret_rank);
void store_session_stat(const struct store_session *session, struct store_session_stat *ret);

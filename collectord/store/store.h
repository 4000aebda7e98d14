/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The store: one thread, the only one that touches a disk. It owns every database, decodes frames,
 * inserts, commits and checkpoints. The loop thread calls all functions here. They never wait for a
 * disk; they put a command into a queue. Answers come back in order through an eventfd. Statistics
 * are copied out under a short lock that is never held over I/O. Nothing here knows sockets.
 *
 * Handles. store_session_open() and store_process_open() return a handle at once; an answer that
 * carries the @owner given with it tells whether the opening worked. Each handle gets exactly one
 * last answer (marked "last" below); the owner must stay valid until then. Handles stay readable
 * (statistics) until the loop thread frees the session, which frees its processes too.
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

#include "collectord/db/rows/quota.h"

struct store;
struct store_session;
struct store_process;

/* ---- the thread ------------------------------------------------------------------------ */

struct seat;
struct subuids;

/* For store_flush() and store_look(): the sessions of all users. */
#define STORE_EVERYBODY ((uid_t)-1)

/* What may change while the store runs. */
struct store_limits {
	struct quota_limits quota;
	uint64_t keep_free_bytes; /* as in struct store_config */
};

struct store_config {
	/* Lists every session of the store, or of the tenant. NULL: none (private collector). */
	const char *index_path;
	/* Where the databases lie, and where free room is kept. NULL: free room is not checked. */
	const char *folder;
	/* With less room than this the disk counts as full, and records wait. */
	uint64_t keep_free_bytes;
	/* How long the end of a process waits for a database that fails; 0: STORE_GIVE_UP_MS. */
	unsigned give_up_ms;
	struct quota_limits limits;
	/* Maps a uid to the one that it counts as; NULL: to itself. Outlives the store. */
	const struct subuids *subuids;
	/*
	 * Of a worker: the tenant whose databases are ours, and the other ones on the same disk,
	 * whose stores look after their own. NULL: there are none. Outlives the store.
	 */
	const struct seat *seat;
};

/* Opens the reserve that all stores of a folder share; the caller closes it. -1: there is none. */
int store_open_reserve(const char *folder);

/* True if the index @path, which no store has open, names a session or cannot be read. */
bool store_has_sessions(const char *index_path);

/* Returns what an error of the store, or of a file, means, as a static text for users. */
const char *store_explain(int error);

/*
 * Starts the thread with all signals blocked. -ENOMEM, -EAGAIN, or the error of eventfd().
 */
int store_new(const struct store_config *config, struct store **ret);

/*
 * Commits what is queued, checkpoints, closes every database and joins the thread. A disk in
 * trouble is tried only once more: what is not committed was not acknowledged and still lies in the
 * recorders. Sessions that were not closed stay open in their files, to be resumed. Unread answers
 * are dropped; handles not yet freed are freed. Returns NULL.
 */
struct store *store_free(struct store *store);

/* Readable when there are answers. store_next_answer() reads it; the caller does not close it. */
int store_answer_fd(const struct store *store);

/*
 * Commits everything that was queued before for the sessions of @uid, each at its turn; then one
 * FLUSHED answer with @owner follows. -ENOMEM.
 */
int store_flush(struct store *store, uid_t uid, void *owner);

/* As store_flush(), but first stores in rtl_in_flight what their processes have in flight.
 * -ENOMEM. */
int store_look(struct store *store, uid_t uid, void *owner);

/* Goes up with every step of the store thread. If it stands still, the thread waits for commands,
 * or hangs. */
uint64_t store_beats(struct store *store);

/*
 * Looks for sessions that an earlier run of the collector left open: in the file @path, or with
 * NULL in the files that the index lists. Makes a file without open sessions one file, and sets a
 * damaged one aside. Answers LEFT_SESSION for each, LEFT_FAILED for what cannot be read, then one
 * LEFT_DONE. -ENOMEM.
 */
int store_recover(struct store *store, const char *path);

/*
 * Replaces the limits of all users, those of open sessions too, after the commands queued before.
 * A session that was opened while there was no quota at all keeps none. -ENOMEM.
 */
int store_limit(struct store *store, const struct store_limits *limits);

/* Starts a pass of retention, because the neighbours have changed. @is_room: sessions that store
 * need the room. -ENOMEM. */
int store_give_back(struct store *store, bool is_room);

/*
 * Removes the session @name of @uid, or the one whose file is @database, unless that is NULL; both
 * are copied. One DISPOSED answer with @owner follows: 0; -EINPROGRESS: it goes, but its files are
 * still being unlinked; -ENOENT: there is none; -ETXTBSY: it is open; -EROFS: its owner keeps it;
 * -EBUSY: it is being read; -EALREADY: another session of @uid is being removed; -EAGAIN: the index
 * is not settled yet; -EOPNOTSUPP: this store removes nothing; -ELOOP, -EMEDIUMTYPE, -EPERM and
 * others: store_explain(). A REMOVED answer comes before that. -ENOMEM.
 */
int store_remove(
	struct store *store, uid_t uid, const char *name, const char *database, void *owner);

/*
 * Excludes a session from retention, or no longer does. MARKED and DISPOSED answers follow, as with
 * store_remove(); -EDQUOT: @uid keeps too many, or too much of its quota. -ENOMEM.
 */
int store_keep(struct store *store, uid_t uid, const char *name, const char *database, bool is_kept,
	void *owner);

/* ---- sessions --------------------------------------------------------------------------- */

enum store_create {
	/*
	 * With path: the file must not exist (FAILED, -EEXIST). With dir: a name that is taken gets
	 * a suffix (NAME-2 to NAME-8, then the time when the session began:
	 * NAME-20260102T030405.000000006); OPENED tells the final name.
	 */
	STORE_NEW,
	/*
	 * With path: an existing file must be a database of ours and is continued; the session of
	 * that name, uid and job in it is re-opened, closed or not; a name of another session gets
	 * a suffix as with STORE_NEW. If there is no file, it is created. With dir: NAME, with any
	 * suffix, is continued if it is an unclosed session of the same uid, job and boot (the
	 * collector was restarted); otherwise as STORE_NEW.
	 */
	STORE_RESUME,
};

/* All strings are copied. NULL is unknown. */
struct store_session_params {
	const char *name; /* shown to users; the store makes it safe for a file name */
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

/* Passes the command that a runner told after the session was opened. Copied. The first command
 * stays, even if an earlier run of the collector stored it. -ENOMEM. */
int store_session_command(struct store_session *session, const char *command);
/* Replaces the user's rules of categories, in the form of RunnerHello. -ENOMEM. */
int store_session_categories(struct store_session *session, const char *text);

/*
 * Keeps a few lines of the caller in the session's file while the session is open. A later run of
 * the collector that resumes the session gets them back with CONTROLS. Replaces earlier lines.
 * Copied. -ENOMEM.
 */
int store_session_controls(struct store_session *session, const char *text);

/* Counts @processes that could not be recorded because they belong to the user @uid ((uid_t)-1: for
 * another reason); stored with the next commit. -ENOMEM. */
int store_session_unseen(struct store_session *session, unsigned processes, uid_t uid);

/*
 * Writes the final counters and the verdict, checkpoints, and sets journal_mode=DELETE. Every
 * process should have had its PROCESS_ENDED before; one that has not is ended as
 * STORE_ENDED_UNKNOWN without a recorder. @exit_status: of the command as a shell would report it
 * (0-255), or -1 unknown. -ENOMEM.
 */
int store_session_close(struct store_session *session, int exit_status);

/* As store_session_close(), for a session that had no collector for a time. If some of its ranks
 * are missing, the verdict says so, because processes that came and went in that time are not
 * known. */
int store_session_close_unwatched(struct store_session *session, int exit_status);

/* Called after the session's last answer. Frees its process handles too. Returns NULL. */
struct store_session *store_session_free(struct store_session *session);

/* ---- processes -------------------------------------------------------------------------- */

/*
 * @hello: the Hello frame without its length prefix (malloc'ed); the store takes ownership, always.
 * @uid, @pid: as the kernel reported them. @start_time: field 22 of /proc/PID/stat as the collector
 * read it; 0: it could not, and the one in the Hello is used. A process that the database knows by
 * (boot id, pid, start time, token) is continued. -ENOMEM.
 */
int store_process_open(struct store_session *session, uint8_t *hello, size_t bytes, uid_t uid,
	pid_t pid, uint64_t start_time, void *owner, struct store_process **ret);

/*
 * The process came back with a new connection: the store forgets that a frame was bad, and answers
 * PROCESS_OPENED with the last committed frame once everything queued before is committed. -ENOMEM.
 */
int store_process_reopen(struct store_process *process);

/*
 * Passes the recorder of a living process, so that what it has in flight can be stored
 * (rtl_in_flight). Takes ownership of @memfd, always. The caller has checked it as for
 * store_process_end(). -ENOMEM.
 */
int store_process_watch(struct store_process *process, int memfd);

/*
 * Queues whole frames as received after the Hello, each with its length prefix, one after the
 * other; takes ownership of @frames, always (malloc'ed). Counters, anchors, defines and Bye are
 * frames, too. After a BAD_FRAME all frames are dropped until store_process_reopen(). 0: go on. 1:
 * queued, but a bound is reached (STORE_QUEUE_PROCESS_BYTES_MAX, or
 * STORE_QUEUE_BYTES_MAX of all): the caller stops reading this connection until its ROOM answer.
 * -ENOMEM: the frames were dropped; the caller closes the connection.
 */
int store_process_frames(struct store_process *process, uint8_t *frames, size_t bytes);

/* Returns the bytes that may be queued until that bound is reached. */
size_t store_process_room(struct store_process *process);

/* see store_process_left() */
struct store_left {
	uid_t uid;
	pid_t pid;
	uint64_t start_time;
	uint8_t token[16];
	bool is_this_boot;
	bool is_recent; /* it was closed since the supervisor started */
};

/* A session whose file was removed. Times of CLOCK_REALTIME. */
struct store_removed {
	uid_t uid;
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t removed_ns;
	uint64_t stored; /* dispatches */
	uint64_t bytes;
	bool was_requested; /* its owner removed it: all else is unknown but uid */
};

enum store_ended {
	STORE_ENDED_EXITED,
	STORE_ENDED_KILLED,
	STORE_ENDED_EXEC,
	STORE_ENDED_UNKNOWN, /* it is not known how */
	/*
	 * The process still lives, but the session does not wait for it (RunnerDone.now): what is
	 * in flight is stored as outstanding, and the process cannot come back to this database.
	 */
	STORE_ENDED_DETACHED,
};

/*
 * The process is dead (or detached): the store reads the rest from its recorder, in one
 * transaction. Takes ownership of @memfd on success only. -1: there is no recorder, and the tail is
 * unknown unless the process said Bye and all was committed. @exit_status: 0-255, 128+signal, -1
 * unknown. The caller has checked seals and size of the memfd; the store trusts nothing in it.
 * -ENOMEM.
 */
int store_process_end(
	struct store_process *process, int memfd, enum store_ended how, int exit_status);

/*
 * A process that LEFT_PROCESS named has ended, and never said Hello to this collector: its tail is
 * unknown. Answers PROCESS_ENDED or PROCESS_FAILED to @owner. -ENOMEM.
 */
int store_process_left(struct store_session *session, uint64_t process_id, enum store_ended how,
	int exit_status, void *owner, struct store_process **ret);

/* ---- answers ---------------------------------------------------------------------------- */

enum store_answer_kind {
	STORE_MADE,	      /* session, before its OPENED or FAILED: its new file is there */
	STORE_OPENED,	      /* session: name, database; text: a warning, or NULL */
	STORE_CONTROLS,	      /* session, before its OPENED: text of store_session_controls() */
	STORE_CALLED,	      /* session, before its OPENED: text = the command in its file */
	STORE_FAILED,	      /* session, last: error, text */
	STORE_CLOSED,	      /* session, last: complete, text = completeness line, database */
	STORE_PROCESS_OPENED, /* process: process_id, frame = last committed */
	STORE_PROCESS_FAILED, /* process, last: error (-EBADF: its session is not open), text; send
				 Refusal */
	STORE_PROCESS_ENDED,  /* process, last: frame */
	STORE_COMMITTED,      /* process: frame; send Ack */
	STORE_BAD_FRAME,      /* process: frame = last accepted, text; send Refusal, close */
	STORE_ROOM,	      /* process: read on */
	STORE_FLUSHED,	      /* owner of store_flush(); error: not everything is committed */
	STORE_DEGRADED, /* session: it cannot be stored now; error, text. Again if the error changes
			 */
	STORE_RECOVERED, /* session: after DEGRADED */
	STORE_HELD,	 /* session: a reader makes its WAL grow; text. Again when it has doubled */
	STORE_LET_GO,	 /* session: after HELD */
	STORE_OVER_QUOTA,   /* session: its tenant stores more than it may; text */
	STORE_WITHIN_QUOTA, /* session: after OVER_QUOTA, also at its close; text: what was granted
			     */
	STORE_LEFT_SESSION, /* no owner: name, database, job, text = command, left.uid,
			       left.is_this_boot */
	STORE_LEFT_PROCESS, /* session, before its OPENED: process_id, left */
	STORE_LEFT_FAILED,  /* no owner: text */
	STORE_SET_ASIDE,    /* no owner: a damaged or foreign file was set aside; text */
	STORE_CUT,	    /* no owner: a file has lost the end of what it acknowledged; text */
	STORE_REMOVED,	/* no owner: a closed session; name, job, database, text = why, removed */
	STORE_KEPT,	/* no owner: a closed session cannot be removed; text */
	STORE_MARKED,	/* no owner: its owner keeps a session: database, left.uid, complete: or not
			 * any more */
	STORE_DISPOSED, /* owner of store_remove() and store_keep(); error */
	STORE_LEFT_CLOSED, /* no owner: name, database, job, text = command, line, left.uid,
			    * left.is_recent, complete, removed.start_ns */
	STORE_LEFT_DONE,   /* no owner */
};

struct store_answer {
	enum store_answer_kind kind;
	void *owner;
	int error;	     /* -errno */
	bool complete;	     /* MARKED: it is kept */
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

/* 1: @ret is filled, and the caller ends it with store_answer_done(); 0: there is none. */
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
	uint32_t processes; /* in the database, also from earlier runs of the collector */
	uint64_t start_realtime_ns;
	uint64_t dispatched;
	uint64_t stored;
	uint64_t lost; /* completeness_lost() */
	bool missing;  /* completeness_is_missing() */
	uint64_t database_bytes;
	char line[512]; /* the completeness line so far */
};

void store_process_stat(const struct store_process *process, struct store_process_stat *ret);
/* The rank alone, if it is known yet. False: the process is not opened yet. */
bool store_process_rank(
	const struct store_process *process, bool *ret_has_rank, uint32_t *ret_rank);
void store_session_stat(const struct store_session *session, struct store_session_stat *ret);

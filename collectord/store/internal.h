/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Declarations that only the files of the store share: the handles behind store.h, the commands
 * between the threads, the databases. Each member names what guards it: "loop" and "store" mean
 * that only the loop thread or the store thread touches it; "lock" means that store.lock guards it,
 * which is held for a few instructions and never over I/O; "fixed" means that it never changes.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "collectord/db/rows/checkpoint.h"
#include "collectord/recorder/in_flight.h"
#include "collectord/catalog/index.h"
#include "collectord/ingest/process/process.h"
#include "collectord/db/rows/quota.h"
#include "collectord/store/store.h"
#include "collectord/ingest/completeness/verdict.h"
#include "collectord/db/rows/writer.h"

/* Demangling may need 16 MiB of the stack (text.c); pages cost only when they are used. */
#define STORE_STACK_BYTES	(64u << 20)
/* How long a close waits for readers before it leaves the file in WAL mode, and between two
 * tries. */
#define STORE_SEAL_NS		1000000000u
#define STORE_SEAL_TRY_NS	20000000u
/* In a flood of frames the store thread sleeps this long, with an open transaction until its
 * commit, or until this many bytes are queued, since a wake costs as much as about 20 rows. */
#define STORE_DOZE_NS		5000000u
#define STORE_DOZE_BYTES	(128u << 10)
/* In the service it sleeps in an open transaction until this long before the commit, which is two
 * turns for what has come meanwhile. */
#define STORE_TURNS_NS		10000000u
/* Frames of one process that are taken in a row, although frames of others came in between: half a
 * turn of rows. Other processes of the same file wait at most for that. */
#define STORE_LOT_BYTES		(256u << 10)
/* The pause after a failed commit doubles between these bounds. */
#define STORE_RETRY_NS_MIN	10000000u
#define STORE_RETRY_NS_MAX	1000000000u
/* Interval between two scans of the dispatches in flight; the shorter one applies to scans that a
 * client asks for. */
#define IN_FLIGHT_SCAN_NS	1000000000u
#define IN_FLIGHT_SCAN_ASKED_NS 50000000u
/* Interval between two looks at a full disk. */
#define STORE_ROOM_TRY_NS	250000000u
/* How long opening a closed file waits for its readers: in a private collector, and in the service,
 * where the sessions of a whole folder wait meanwhile. */
#define STORE_BUSY_MS		5000u
#define STORE_BUSY_SHARED_MS	500u
/* The sums of a whole session are read at most once in this time. */
#define STORE_STAT_NS		250000000u

enum command_kind {
	COMMAND_SESSION_OPEN,
	COMMAND_SESSION_COMMAND,
	COMMAND_SESSION_CONTROLS,
	COMMAND_SESSION_CATEGORIES,
	COMMAND_SESSION_UNSEEN,
	COMMAND_SESSION_CLOSE,
	COMMAND_SESSION_FREE,
	COMMAND_PROCESS_OPEN,
	COMMAND_PROCESS_REOPEN,
	COMMAND_PROCESS_FRAMES,
	COMMAND_PROCESS_END,
	COMMAND_PROCESS_LEFT,
	COMMAND_PROCESS_WATCH,
	COMMAND_RECOVER,
	COMMAND_GIVE_BACK,
	COMMAND_WEIGH,
	COMMAND_LIMITS,
	COMMAND_REMOVE,
	COMMAND_KEEP,
	COMMAND_RELEASE,
	COMMAND_FLUSH,
};

/* A flush of several databases has a command for each; the last one to finish answers. */
struct flush {
	struct store *store;
	void *owner;
	uid_t uid;
	bool is_scan_first; /* first scan what is in flight */
	unsigned parts;
	int error; /* of the last part that failed */
};

/* Made by the loop thread, which hands it to the store thread. */
struct command {
	struct command *next;
	enum command_kind kind;
	struct store_session *session; /* NULL: for the whole store */
	struct store_process *process;
	uint8_t *bytes; /* a Hello, or frames; owned */
	size_t count;	/* its bytes; UNSEEN: processes */
	char *text;	/* owned; for RECOVER a path; for REMOVE, KEEP, RELEASE a name */
	char *database; /* owned; of REMOVE, KEEP, RELEASE; NULL: the text tells */
	void *owner;	/* of REMOVE, KEEP, RELEASE */
	struct store_limits *limits; /* owned; of LIMITS */
	struct flush *flush;	     /* FLUSH: the flush that it is a part of */
	int memfd;		     /* owned; -1: none */
	enum store_ended how;
	int exit_status;
	bool was_unwatched; /* of a close */
	uid_t uid;
	pid_t pid;
	uint64_t start_time;
	uint64_t process_id;  /* of PROCESS_LEFT */
	uint64_t deadline_ns; /* close with written rows: how long it waits for readers */
	int log_fd;	      /* owned; the WAL to be freed last; -1: none */
	uint64_t made_ns;     /* CLOCK_MONOTONIC */
};

struct command_list {
	struct command *first;
	struct command **end; /* NULL when empty */
};

struct answer {
	struct answer *next;
	struct store_answer answer;
};

/* A commit looks at the first cache line of every process, so that line holds what it needs, and
 * nothing that the loop thread writes. */
struct store_process {
	/* store */
	struct store_process *next;
	struct process *process; /* NULL: not opened, or over */
	bool is_over;		 /* its last answer was given */
	bool is_bad;		 /* its frames are dropped until it is reopened */
	bool is_touched;	 /* by the open transaction */
	bool is_opening;	 /* in the open transaction */

	struct store_session *session; /* fixed */
	void *owner;		       /* fixed */

	/* store */
	struct command *last; /* its last queued frames, unless another command follows */
	size_t lot_bytes;     /* of the queued run of frames that ends with @last */
	struct in_flight in_flight;
	int given_up; /* -errno: its unstored records count as dropped */
	uint64_t committed;
	uint8_t *hello; /* while it is open: for a file that replaces a damaged one */
	size_t hello_bytes;
	uid_t uid;

	struct store_process_stat stat; /* lock */
	size_t queued_bytes;		/* lock */
	bool is_stalled;		/* lock: the loop thread waits for ROOM */
};

struct store_session {
	struct store_session *next;  /* store */
	struct store *store;	     /* fixed */
	void *owner;		     /* fixed */
	char *name;		     /* store; clean */
	char *job;		     /* fixed */
	char *command;		     /* store */
	char *controls, *categories; /* store: as last set, for a file that replaces a damaged one;
					or NULL */
	char *host;		     /* fixed */
	char *path;		     /* store; absolute once open */
	char *dir;		     /* fixed */
	uid_t uid;		     /* fixed */
	enum store_create create;    /* fixed */

	struct store_session_stat stat; /* lock */

	/* store */
	bool is_waiting;	     /* to be opened */
	struct command_list waiting; /* commands that came meanwhile */
	struct store_process *processes;
	struct store_process *ended;	 /* found over by a commit; handles are kept */
	struct store_database *database; /* NULL: failed or closed */
	struct store_session *sibling;	 /* the next one of the same database */
	int64_t id;
	unsigned unseen; /* processes of which nothing could be written, not even their number */
	bool is_over;
	bool was_renewed; /* processes named by LEFT_PROCESS are in the file that was set aside */
	uint64_t start_realtime_ns;
	uint64_t stat_ns; /* when @stat was last filled */
	bool is_stat_due; /* a process has ended since */
};

struct store_database { /* store */
	struct store_database *next;
	struct writer *writer;
	dev_t dev;
	ino_t ino;
	unsigned sessions;		     /* open ones */
	struct store_session *first_session; /* the others are its siblings */
	struct command_list todo;	     /* in order */
	struct command_list taken;	     /* done in the open transaction */
	bool has_openings;		     /* of processes; they wait for its commit */
	bool is_parting;	     /* all processes have said Bye: only their ends are to come */
	struct command *current;     /* under way: in neither list */
	int trouble;		     /* -errno of a failed commit or a full disk; 0: none */
	uint64_t trouble_ns;	     /* CLOCK_MONOTONIC: when the last trouble began */
	bool must_reload;	     /* a rollback could not reload everything */
	int reload_error;	     /* why */
	bool must_renew;	     /* it was found damaged; the writer is detached */
	int damage;		     /* -errno: the file at its path must be set aside; 0: it was */
	unsigned asides;	     /* files set aside since it was opened */
	uint64_t wal_reported_bytes; /* size of the WAL when last reported; 0: no reader holds it */
	uint64_t wal_checked_ns;     /* CLOCK_MONOTONIC */
	int index;		     /* of its WAL, for wal_readers(); -1: not opened yet */
	unsigned finishing; /* commands under way when the disk was full: they use the reserve */
	uint64_t retry_ns;  /* the next pause */
	uint64_t not_before_ns; /* CLOCK_MONOTONIC; 0: at once */
	uint64_t scanned_ns;	/* CLOCK_MONOTONIC: when the last scan began */
	bool is_scan_asked;
	uint64_t flushed;	/* number of the last flush that reached it */
	bool is_left;		/* no session continues it: it is to be sealed */
	bool is_sealed;		/* it is one file, but not closed yet: no session joins it */
	bool is_stat_due;	/* of one of its sessions */
	uint64_t committed_ns;	/* CLOCK_MONOTONIC: the last transaction of records */
	uint64_t bytes;		/* of the file and its WAL, as its quota counts them */
	uint64_t told_dropped;	/* of its quota, at the last check */
	uint64_t over_quota_ns; /* CLOCK_MONOTONIC: the last drop; 0: reported as over */
};

struct store {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;	     /* lock */
	struct command_list queue;   /* lock */
	size_t queued_bytes;	     /* lock */
	unsigned stalled;	     /* lock */
	bool is_stopping;	     /* lock */
	bool is_dozing;		     /* lock: a few frames do not wake the thread */
	bool is_urgent;		     /* lock: the queue wakes the thread, whatever it holds */
	size_t unread_bytes;	     /* lock: of frames in the queue */
	struct answer *answers;	     /* lock */
	struct answer **answers_end; /* lock */
	int answer_fd;
	_Atomic uint64_t beats; /* written by the store thread, read by any */

	/* store */
	struct store_database *databases;
	struct command_list opens; /* sessions that wait to be opened */
	uint64_t cache_bytes;	   /* for the pages of each database; 0: none was ever open */
	struct store_session *sessions;
	uint64_t flushes;
	struct msg_arena arena;
	struct database_patience patience; /* with the readers of a file that is opened */
	struct room *room;		   /* NULL: free room is not checked */
	uint64_t give_up_ns;
	const struct subuids *subuids; /* fixed */
	uid_t tenant;		       /* fixed; STORE_EVERYBODY: all tenants */
	const struct seat *seat;       /* fixed; NULL: this is no worker */
	struct quota_account account;
	struct checkpoints checkpoints;
	bool has_quotas;
	struct retention *retention; /* NULL: closed sessions are kept */
	struct index *index;
	int index_error; /* the last one reported; 0: none */
	char *scan;	 /* path of the index if it is new: then every file is scanned */
};

/* sessions.c */
/* Frees the session with its processes; no thread may refer to it any more. */
void destroy_session(struct store_session *session);
/* Lists the session as open in the index. */
void session_put_index(struct store *store, struct store_session *session);
/* Adds @session to the sessions of @database, until session_leave() removes it. */
void session_join(struct store_session *session, struct store_database *database);
void session_leave(struct store_session *session);

/* command.c */
struct command *command_new(
	enum command_kind kind, struct store_session *session, struct store_process *process);
/* Also ends the command's part of a flush. Returns NULL. */
struct command *command_free(struct command *command);
/* True for notes about a session: one of a kind in the queue is enough. */
bool command_is_note(const struct command *command);
/* Bytes that it takes in the queue: a flood of tiny frames is mostly commands. */
size_t command_bytes(const struct command *command);
void command_list_add(struct command_list *list, struct command *command);
/* Inserts @command after @before, which is in @list. */
void command_list_insert(
	struct command_list *list, struct command *before, struct command *command);
/* Puts all of @more before all of @list. */
void command_list_prepend(struct command_list *list, struct command_list *more);
struct command *command_list_take(struct command_list *list);
/* Puts the commands of the lost transaction back at the head of the queue, in order, and frees the
 * processes that it opened. */
void work_take_back(struct store_database *database);

/* answer.c: strings are copied, NULL without memory; for the answer itself these wait for
 * memory. */
void answer_session(
	struct store_session *session, enum store_answer_kind kind, int error, const char *text);
void answer_process(
	struct store_process *process, enum store_answer_kind kind, int error, const char *text);
void answer_flushed(struct store *store, void *owner, int error);
/* An answer without an owner: one line. */
void answer_text(struct store *store, enum store_answer_kind kind, int error, const char *format,
	...) __attribute__((format(printf, 4, 5)));
/* Takes ownership of the strings of @answer. */
void answer_left(struct store *store, struct store_answer *answer);
/* The bytes of @command leave the queue: answers ROOM where that ends a wait. */
void answer_release(struct store *store, const struct command *command);
void answer_drop_all(struct store *store);
/* Counts a sign of life, which store_beats() tells the loop. */
void store_beat(struct store *store);

/* open_session.c: finds or makes the file of @session and its row. @why: one line, or "". */
int session_file_open(struct store_session *session, char *why, size_t why_bytes);
/* NULL: it is not open here. An open file must not be opened twice, because closing one descriptor
 * drops the locks of the other. */
struct store_database *session_file_find_open(struct store *store, const char *path);
/* Opens a file that is not open here, as it was left; does not set a damaged one aside. */
int session_file_open_existing(struct store *store, const char *path, struct store_database **ret);
struct store_database *session_file_close(struct store *store, struct store_database *database);

/* session_file.c */
/* True if a damaged file may be replaced: the service's folder is ours with all that is in it;
 * elsewhere the file itself has to be ours. */
bool session_file_may_renew(const struct store *store, const char *path);

/* session_row.c. Reads the id of this boot as the kernel writes it; "" if it cannot be read. */
#define SESSION_ROW_BOOT_BYTES 40
void session_row_boot_id(char ret[SESSION_ROW_BOOT_BYTES]);
/* A job's sessions are named NAME, NAME-2 ... up to this number. Later ones are named by their
 * start, which needs no search; so many tries are made in case such a name is taken. */
#define SESSION_ROW_NAMES_NUMBERED 8
#define SESSION_ROW_NAMES_MAX	   (2 * SESSION_ROW_NAMES_NUMBERED)
/* Sets the @n-th name to try for a session of the job @first, with @n from 1 to
 * SESSION_ROW_NAMES_MAX. */
int session_row_take_name(struct store_session *session, const char *first, int n);
/* True if @row, which has a uid at 1 and a job at 2, is of the user and the job of @session. */
bool session_row_is_its_own(const struct store_session *session, sqlite3_stmt *row);
/* Finds or makes the row and commits it; no transaction is open before. Sets id and name, and for
 * an existing row start_realtime_ns and command. */
int session_row_open(struct store_session *session, struct store_database *database);
/* Writes the row and the meta data of @session, in the open transaction of a file that lacks
 * both. */
int session_row_put(struct store_session *session, struct writer *writer);
/* Stores what store_session_controls() keeps under a key of its own in rtl_meta: the boot id, a
 * newline and @text. @text NULL deletes it. In the open transaction. */
#define SESSION_ROW_KEY_BYTES 32
void session_row_controls_key(int64_t session_id, char ret[SESSION_ROW_KEY_BYTES]);
int session_row_put_controls(struct writer *writer, int64_t session_id, const char *text);
/* Replaces the user's rules of categories. In the open transaction. */
int session_row_put_categories(struct writer *writer, const char *text);

/* Called after a process told its rank, used a GPU, or ended: see ranks.h. */
int session_row_find_ranks(struct store_session *session, struct writer *writer);

/* wal_growth.c: called between transactions. */
void wal_growth_check(struct store_database *database);
/* CLOCK_MONOTONIC of the next check; UINT64_MAX: the next commit is soon enough. */
uint64_t wal_growth_next_ns(const struct store_database *database);

/* quota_report.c: called after a commit, and by time. */
void over_quota_check(struct store *store, struct store_database *database);
/* CLOCK_MONOTONIC of the next check; UINT64_MAX: the next commit is soon enough. */
uint64_t over_quota_next_ns(const struct store_database *database);
/* Called when @session was opened in its database: the quota applies to it. */
void over_quota_open(struct store_session *session);
/* True if some quota is set. */
bool over_quota_has_any(const struct quota_limits *limits);
/* Replaces the limits of all that this store has. */
void over_quota_limit(struct store *store, const struct store_limits *limits);
/* Called when its last session or its file closes: reports what was granted in all. */
void over_quota_close(struct store *store, struct store_database *database);

/* quarantine.c */
/*
 * Sets the file at @path aside and replaces it by an empty database that records @count such files.
 * Answers SET_ASIDE. The caller frees *@ret_aside, unless @ret_aside is NULL. On an error nothing
 * has changed.
 */
int renew_file(struct store *store, const char *path, int error, unsigned count, char **ret_aside);
/* Answers SET_ASIDE for @path, which is @aside now, and CUT. */
void renew_say_aside(struct store *store, const char *path, const char *aside, int error);
void renew_say_cut(struct store *store, const char *path);
void renew_tell_index(struct store *store, const char *path, const char *aside, int error);
/* Detaches the damaged @database, and requeues what it had not committed. */
void renew_want(struct store_database *database, int error);
/* The next step: makes a new file with everything that is open in it. On an error it is retried. */
int renew_database(struct store *store, struct store_database *database);

/* commit.c */
#define STEP_UNDONE (-ECANCELED) /* it failed, and the transaction was rolled back */
/* Commits the open transaction. STEP_UNDONE: everything taken is done again. */
int work_commit(struct store *store, struct store_database *database);
/* Commits when it is due. In a private collector a checkpoint step follows, after the Acks were
 * answered. As work_commit(). */
int work_commit_due(struct store *store, struct store_database *database);
/* True if the database has an open process. */
bool work_has_processes(const struct store_database *database);
/* In the service, frees the cached pages of a database that has no open process: they are a third
 * of the memory of such a session. The next transaction reads the pages that it needs again. */
void work_rest(const struct store *store, const struct store_database *database);
/* CLOCK_MONOTONIC of the next commit; UINT64_MAX: there is nothing to commit. */
uint64_t work_next_commit(const struct store_database *database);
/* close_session.c: run one command each. 0; -EAGAIN: not yet (not_before_ns is set, or other
 * databases have their turn); or an error. */
int close_process(struct store *store, struct store_database *database, struct command *command);
int close_session(struct store *store, struct store_database *database, struct command *command,
	bool is_last);

/*
 * Ends a session whose end cannot be written: answers it, and leaves the file as it is. True: it
 * was the last session of @database, which is freed.
 */
bool close_unwritten(
	struct store *store, struct store_database *database, struct store_session *session);

/* Ends the row of a process whose recorder cannot be read any more, in the open transaction. */
int close_unread_row(struct writer *writer, int64_t process_id, enum store_ended how, int status);

/* statistics.c */
void stat_fill_process(struct store_process *process);
/* database_errno(): the last figures stay. */
int stat_fill_session(struct store_session *session, bool now);
/* Summing up a session takes time proportional to its processes. If many end together, it is done
 * for several of them at once, at the end of a turn. */
void stat_want_session(struct store_session *session);
void stat_fill_due(struct store_database *database);

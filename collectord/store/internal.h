/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What the files of the store share, and nobody else includes: the handles behind store.h, the
 * commands between the threads, the databases. Each member names who touches it: "loop" and
 * "store" are the threads; "lock" is store.lock, held for a few instructions, never over I/O.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "collectord/db/checkpoint.h"
#include "collectord/recorder/drain.h"
#include "collectord/recorder/in_flight.h"
#include "collectord/catalog/index.h"
#include "collectord/ingest/process.h"
#include "collectord/db/quota.h"
#include "collectord/store/store.h"
#include "collectord/ingest/verdict.h"
#include "collectord/db/writer.h"

/* Demangling may need 16 MiB of it (text.c); pages cost only when they are used. */
#define STORE_STACK_BYTES    (64u << 20)
/* How long a session waits for readers to go before its file is left in WAL mode. */
#define STORE_SEAL_NS	     1000000000u
#define STORE_SEAL_TRY_NS    20000000u
/* Frames that come one upon another wait for each other so long, or until there are so many: a
 * wake costs as much as some 20 rows. */
#define STORE_DOZE_NS	     5000000u
#define STORE_DOZE_BYTES     (128u << 10)
/* So many of one process are taken in a row, whoever's came between: half a turn of rows, for which
 * the others of its file wait at most. */
#define STORE_LOT_BYTES	     (256u << 10)
/* After a failed commit: doubling. */
#define STORE_RETRY_NS_MIN   10000000u
#define STORE_RETRY_NS_MAX   1000000000u
/* So often what hangs is looked for, and somebody who asks is shown it anew. */
#define STORE_LOOK_NS	     1000000000u
#define STORE_LOOK_ASKED_NS  50000000u
/* Of one turn; a single process may have 12 MiB of slots to be read twice. */
#define STORE_LOOK_PROCESSES 16u
#define STORE_LOOK_TURN_NS   5000000u
/* A full disk is looked at so often. */
#define STORE_ROOM_TRY_NS    250000000u
/* Opening waits so long for who reads a closed file: where there is no other file, and where the
 * sessions of a whole folder wait meanwhile. */
#define STORE_BUSY_MS	     5000u
#define STORE_BUSY_SHARED_MS 500u
/* And for those of one user, who may read any of his files for ever, in such a time; users that are
 * known by that, of whom the one that was waited for longest ago is forgotten. */
#define STORE_BUSY_USER_MS   5000u
#define STORE_BUSY_USER_NS   60000000000u
#define STORE_BUSY_USERS     64u
/* The sums of a whole session are read again so often at most. */
#define STORE_STAT_NS	     250000000u

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
	COMMAND_FLUSH,
};

/* What the end of a session is done in, with others' turns in between. */
enum close_step {
	CLOSE_ROWS,  /* all that the file says of it */
	CLOSE_LOG,   /* what is in the log goes into the file */
	CLOSE_FILE,  /* which is then one */
	CLOSE_INDEX, /* and known as closed */
};

/* A flush of several databases: a command each, the last one answers. */
struct flush {
	struct store *store;
	void *owner;
	uid_t uid;
	bool is_look; /* at what is in flight, before */
	unsigned parts;
	int error; /* of the last one that failed */
};

/* Made by the loop, then the store's. */
struct command {
	struct command *next;
	enum command_kind kind;
	struct store_session *session; /* NULL: of the whole store */
	struct store_process *process;
	uint8_t *bytes;	     /* a Hello, or frames; owned */
	size_t count;	     /* of these; of UNSEEN processes */
	char *text;	     /* owned; of RECOVER a path */
	struct flush *flush; /* a part of it; of FLUSH */
	int memfd;	     /* owned; -1: none */
	enum store_ended how;
	int exit_status;
	bool was_unwatched; /* of a close */
	uid_t uid;
	pid_t pid;
	uint64_t start_time;
	uint64_t process_id; /* of PROCESS_LEFT */
	uint64_t
		deadline_ns; /* of a close whose rows are written: till then it waits for readers */
	enum close_step close_step; /* the next one */
	int close_error;	    /* -errno: why it is not one file */
	int log_fd;		    /* owned; of a log whose name goes; -1: none */
	uint64_t made_ns;	    /* CLOCK_MONOTONIC */
};

struct command_list {
	struct command *first;
	struct command **end; /* NULL when empty */
};

struct answer {
	struct answer *next;
	struct store_answer answer;
};

/* Of one uid: what it has in the queue, over all its processes. */
struct store_user {
	struct store_user *next; /* lock */
	uid_t uid;		 /* fixed; whom the uid of a session counts as */
	unsigned sessions;	 /* lock: and databases */
	size_t queued_bytes;	 /* lock */
	uint64_t round;		 /* store: of its last turn */
	unsigned drains;	 /* store: that are under way */
};

/* Of all processes a commit looks at the first of it: a line of each, and no line that the loop
 * writes. */
struct store_process {
	/* store */
	struct store_process *next;
	struct process *process; /* NULL: not opened, or over */
	bool is_over;		 /* its last answer was given */
	bool is_bad;		 /* throws frames away until it is reopened */
	bool is_touched;	 /* by the open transaction */
	bool is_opening;	 /* in it */

	struct store_session *session; /* fixed */
	void *owner;		       /* fixed */

	/* store */
	struct command
		*last; /* of its frames in line, if nothing else of it came behind them; or NULL */
	size_t lot_bytes; /* of those that are one behind another there, and of that */
	struct in_flight in_flight;
	uint64_t look; /* the last one of its database that came to it */
	int given_up;  /* -errno: what is not stored of it is counted as dropped */
	uint64_t committed;
	uint8_t *hello; /* while it is open: for a file that takes the place of a damaged one */
	size_t hello_bytes;
	uid_t uid;

	struct store_process_stat stat; /* lock */
	size_t queued_bytes;		/* lock */
	bool is_stalled;		/* lock: the loop waits for ROOM */
};

struct store_session {
	struct store_session *next;  /* store */
	struct store *store;	     /* fixed */
	void *owner;		     /* fixed */
	char *name;		     /* store; clean */
	char *job;		     /* fixed */
	char *command;		     /* store */
	char *controls, *categories; /* store: as they were put last, for a file that takes the
				      * place of a damaged one; NULL: never, or not in this life */
	char *host;		     /* fixed */
	char *path;		     /* store; absolute once open */
	char *dir;		     /* fixed */
	uid_t uid;		     /* fixed */
	struct store_user *user;     /* fixed */
	enum store_create create;    /* fixed */

	struct store_session_stat stat; /* lock */

	/* store */
	bool is_waiting;	     /* to be opened */
	struct command_list waiting; /* what came meanwhile */
	struct store_process *processes;
	struct store_process *ended; /* that a commit found to be over: their handles are kept */
	struct store_database *database; /* NULL: failed or closed */
	struct store_session *sibling;	 /* the next one of the same database */
	int64_t id;
	unsigned unseen; /* processes of which nothing could be written, not even that */
	bool is_over;
	bool was_renewed; /* whom LEFT_PROCESS named is in the file that went aside */
	uint64_t start_realtime_ns;
	uint64_t stat_ns; /* when it was last filled */
	bool is_stat_due; /* a process has ended since */
};

struct store_database { /* store */
	struct store_database *next;
	struct writer *writer;
	struct store_user *user; /* whose turn it has; never NULL */
	dev_t dev;
	ino_t ino;
	unsigned sessions;		     /* open ones */
	struct store_session *first_session; /* of them; the others are its siblings */
	struct command_list todo;	     /* in order */
	struct command_list taken;	     /* done in the open transaction */
	bool has_openings;		     /* of processes, which wait for it */
	bool is_parting;	 /* all that are there have said Bye: only their ends are to come */
	struct command *current; /* under way: between the two */
	struct drain *drain; /* under way, of the first of todo, in the open transaction; or NULL */
	int trouble;	     /* -errno, since a commit failed or room went; 0: none */
	uint64_t trouble_ns; /* CLOCK_MONOTONIC: since when; of the last one */
	bool must_reload;    /* a rollback could not read everything back */
	int reload_error;    /* why */
	bool must_renew;     /* it was found damaged; the writer is detached */
	int damage;	     /* -errno: what is at its path has to go aside yet; 0: it has */
	unsigned asides;     /* that went aside in this life of it */
	uint64_t held_bytes; /* of its log, when that was last said; 0: nobody holds it */
	uint64_t held_look_ns;	/* CLOCK_MONOTONIC */
	int index;		/* of its log, for wal_readers(); -1: not asked yet */
	unsigned finishing;	/* commands under way when the disk was full: with the reserve */
	uint64_t retry_ns;	/* the next pause */
	uint64_t not_before_ns; /* CLOCK_MONOTONIC; 0: at once */
	uint64_t looked_ns;	/* CLOCK_MONOTONIC: at what is in flight */
	uint64_t look;		/* the number of that */
	bool is_looking;	/* it has not come to all processes */
	bool is_look_asked;
	uint64_t flushed;      /* by the flush of that number */
	bool is_left;	       /* no session goes on with it: to be made one file */
	bool is_sealed;	       /* it is one file, only not closed yet: nobody comes to it */
	bool is_stat_due;      /* of one of its sessions */
	uint64_t committed_ns; /* CLOCK_MONOTONIC: the last transaction of records */
	uint64_t bytes;	       /* of the file and its log, as its quota counts them */
	uint64_t told_dropped; /* of its quota, when that was last looked at */
	uint64_t
		over_quota_ns; /* CLOCK_MONOTONIC: more was dropped then; 0: told that it is over */
};

/* Of one user: how long he may still be waited for. */
struct patience_left {
	uid_t uid;
	uint64_t since_ns; /* CLOCK_MONOTONIC; 0: of nobody */
	uint64_t us;
};

struct store {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;	     /* lock */
	struct command_list queue;   /* lock */
	size_t queued_bytes;	     /* lock */
	struct store_user *users;    /* lock */
	unsigned stalled;	     /* lock */
	bool is_stopping;	     /* lock */
	bool is_dozing;		     /* lock: a few frames do not end the thread's wait */
	bool is_urgent;		     /* lock: what is in the queue does, whatever it is */
	size_t unread_bytes;	     /* lock: of frames in the queue */
	struct answer *answers;	     /* lock */
	struct answer **answers_end; /* lock */
	int answer_fd;
	_Atomic uint64_t beats; /* store writes, anybody reads */

	/* store */
	struct store_database *databases; /* who had its turn last is last */
	struct command_list opens;	  /* sessions that wait for it */
	uint64_t cache_bytes;		  /* of the pages of each; 0: none was ever open */
	struct store_session *sessions;
	struct store_user nobody; /* has the databases that no session goes on with */
	uint64_t round, flushes;
	struct msg_arena arena;
	struct database_patience patience; /* of all databases; with whose file is opened */
	struct patience_left patience_left[STORE_BUSY_USERS];
	struct room *room; /* NULL: nobody looks after it */
	uint64_t give_up_ns;
	const struct subuids *subuids; /* fixed */
	uid_t tenant;		       /* fixed; STORE_EVERYBODY: of all */
	const struct store_neighbours *neighbours; /* fixed; NULL: none */
	struct quotas quotas;
	struct checkpoints checkpoints;
	bool has_quotas;
	struct retention *retention; /* NULL: closed sessions are kept */
	struct index *index;
	int index_error; /* that was told; 0: none */
	char *scan;	 /* the folder whose files the index does not know; NULL: it knows */
};

/* store.c */
void store_beat(struct store *store);
/* Takes over @command, NULL is -ENOMEM. Loop thread. */
int store_post(struct store *store, struct command *command);
/* With the lock held: is there something in the queue for which the thread ends its wait? It does.
 */
bool store_has_work_locked(const struct store *store);
void store_wake_locked(struct store *store);
/* With its processes; nobody may know it any more. */
void destroy_session(struct store_session *session);
/* That it is open. */
void session_put_index(struct store *store, struct store_session *session);
/* It is one of those of @database from now on, until it leaves it. */
void session_join(struct store_session *session, struct store_database *database);
void session_leave(struct store_session *session);

/* scheduler.c */
/* Into the line it belongs in. */
void turns_route(struct store *store, struct command *command);
/* Each user has one turn, in which one of its databases gets on, or one session is opened. */
void turns_round(struct store *store);
/* The rest of everybody's, before the end. */
void turns_finish(struct store *store);
/* Some session can be opened now. */
bool turns_has_opens(struct store *store);

/* requests.c */
/* A handle that nobody has asked to open. -ENOMEM, -EINVAL. */
int store_session_new(struct store *store, const struct store_session_params *params, void *owner,
	struct store_session **ret);
/*
 * Has it half of what the others leave (of that the @part-th part)? With the lock held.
 */
bool store_user_is_full(const struct store *store, const struct store_user *user, unsigned part);
void store_user_free(struct store *store, struct store_user *user);
/* @database has its turns with those of @user from now on; NULL: with nobody's. */
void store_user_set(struct store *store, struct store_database *database, struct store_user *user);

/* command.c */
struct command *command_new(
	enum command_kind kind, struct store_session *session, struct store_process *process);
/* A part of a flush is done with that. Returns NULL. */
struct command *command_free(struct command *command);
/* What is told of a session at any time, of which one in line is enough. */
bool command_is_note(const struct command *command);
/* Of the queue: a flood of tiny frames is one of commands. */
size_t command_bytes(const struct command *command);
void command_list_add(struct command_list *list, struct command *command);
/* Behind @before, which is in @list. */
void command_list_insert(
	struct command_list *list, struct command *before, struct command *command);
/* All of @more before all of @list. */
void command_list_prepend(struct command_list *list, struct command_list *more);
struct command *command_list_take(struct command_list *list);

/* answer.c: strings are copied, NULL without memory; for the answer itself it is waited. */
void answer_session(
	struct store_session *session, enum store_answer_kind kind, int error, const char *text);
void answer_process(
	struct store_process *process, enum store_answer_kind kind, int error, const char *text);
void answer_flushed(struct store *store, void *owner, int error);
/* Of recover.c; what @answer points to becomes the answer's. */
void answer_left(struct store *store, struct store_answer *answer);
/* Bytes of @command are no longer held: says ROOM where that ends a wait. */
void answer_release(struct store *store, const struct command *command);
void answer_drop_all(struct store *store);

/* patience.c: for the opening of the file @path. */
const struct database_patience *store_patience(struct store *store, const char *path);

/* open_session.c: finds or makes the file of @session and its row. @why: one line, or "". */
int session_file_open(struct store_session *session, char *why, size_t why_bytes);
/* What an error means for a file; borrowed. */
const char *session_file_explain(int r);
/* NULL: not open here. An open file must not be opened twice: closing one drops the locks of the
 * other. */
struct store_database *session_file_find_open(struct store *store, const char *path);
/* A file that nobody has open here, as it was left; what is damaged is not set aside. */
int session_file_open_existing(struct store *store, const char *path, struct store_database **ret);
struct store_database *session_file_close(struct store *store, struct store_database *database);

/* The folder of the service is ours with all that is in it; elsewhere the file has to be. */
bool session_file_may_renew(const struct store *store, const char *path);

/* session_row.c. Of this boot, as the kernel writes it; "" when it cannot be read. */
#define SESSION_ROW_BOOT_BYTES 40
void session_row_boot_id(char ret[SESSION_ROW_BOOT_BYTES]);
/* Names of a job that are numbered: NAME, NAME-2 ... Past them it is named by when it began, which
 * needs no search however many there are, and so often at most, should somebody else have that. */
#define SESSION_ROW_NAMES_NUMBERED 8
#define SESSION_ROW_NAMES_MAX	   (2 * SESSION_ROW_NAMES_NUMBERED)
/* The @n-th name that a session of the job @first is tried with, from 1 to SESSION_ROW_NAMES_MAX.
 */
int session_row_take_name(struct store_session *session, const char *first, int n);
/* Whether @row, which has a uid at 1 and a job at 2, is of the user and the job of @session. */
bool session_row_is_its_own(const struct store_session *session, sqlite3_stmt *row);
/* Finds or makes the row, and commits it; what was open is committed before. Sets id, name, and of
 * a row that was there start_realtime_ns and command. */
int session_row_open(struct store_session *session, struct store_database *database);
/* The row and the words of @session, in the open transaction of a file that has none of it. */
int session_row_put(struct store_session *session, struct writer *writer);
/* What store_session_controls() keeps, under a key of its own in rtl_meta: the boot, a line end,
 * and
 * @text; NULL: nothing any more. In the open transaction. */
#define SESSION_ROW_KEY_BYTES 32
void session_row_controls_key(int64_t session_id, char ret[SESSION_ROW_KEY_BYTES]);
int session_row_put_controls(struct writer *writer, int64_t session_id, const char *text);
/* The user's rules of categories, in place of those before. In the open transaction. */
int session_row_put_categories(struct writer *writer, const char *text);

/* After something was said of a rank, or a process has used a GPU, or ended: ranks.h. */
int session_row_find_ranks(struct store_session *session, struct writer *writer);

/* wal_growth.c: between transactions. */
void held_check(struct store_database *database);
/* CLOCK_MONOTONIC of the next one; UINT64_MAX: after a commit is soon enough. */
uint64_t held_next_ns(const struct store_database *database);

/* quota_report.c: after a commit, and by the clock. */
void over_quota_check(struct store *store, struct store_database *database);
/* CLOCK_MONOTONIC of the next one; UINT64_MAX: after a commit is soon enough. */
uint64_t over_quota_next_ns(const struct store_database *database);
/* @session is opened in its database: whose quota that is. -ENOMEM. */
int over_quota_open(struct store_session *session);
/* Its last session closes, or its file: what it was granted in all is said. */
void over_quota_close(struct store *store, struct store_database *database);

/* quarantine.c */
/*
 * What is at @path goes aside, and an empty database that tells of @count such files takes its
 * place. SET_ASIDE is said. *@ret_aside, unless NULL, to be freed. On an error all is as it was.
 */
int renew_file(struct store *store, const char *path, int error, unsigned count, char **ret_aside);
/* Says CUT of @path. */
void renew_say_cut(struct store *store, const char *path);
void renew_tell_index(struct store *store, const char *path, const char *aside, int error);
/* @database is damaged: it is let go of, what it had not committed comes again. */
void renew_want(struct store_database *database, int error);
/* Afterwards: a new file, with all that is open in it. To be tried again on an error. */
int renew_database(struct store *store, struct store_database *database);

/* commands.c */
/* Commits what is open, unless it is half a drain; on failure everything taken is to be done again.
 */
int work_commit(struct store *store, struct store_database *database);
/* One that is due, and, in a collector of one user, a step of the log behind it: whose records it
 * holds has their Ack before. As work_commit(). */
int work_commit_due(struct store *store, struct store_database *database);
/* Of a service, where none of its processes is open: without the pages that it has in memory, which
 * are a third of what such a session takes. The next transaction reads those it needs again. */
void work_rest(const struct store *store, const struct store_database *database);
/* CLOCK_MONOTONIC of the next commit; UINT64_MAX: there is nothing to commit. */
uint64_t work_next_commit(const struct store_database *database);
/* Half a drain is no more. */
void work_end_drain(struct store_database *database);
/* The open transaction is no more: what was done in it stands in line again, whoever it opened. */
void work_take_back(struct store_database *database);
/*
 * Does what can be done now, in a turn of bounded length. @is_last: all of it, and without waiting
 * for anybody. True: a step was made.
 */
bool work_database(struct store *store, struct store_database *database, bool is_last);

/* in_flight_poll.c */
#define LOOK_MORE   1		 /* it has not come to all */
#define LOOK_UNDONE (-ECANCELED) /* it failed, and what is open was rolled back */
/* CLOCK_MONOTONIC of the next look; UINT64_MAX: nobody is to be looked at. */
uint64_t look_next_ns(const struct store_database *database);
/*
 * A turn's part of a look at what is in flight, if it is time for one or somebody asks. What it
 * finds is committed with the next transaction. LOOK_MORE, 0, LOOK_UNDONE.
 */
int look_turn(struct store *store, struct store_database *database, bool is_asked);

/* recover.c: what an earlier life of the collector left open. */
void recover_sessions(struct store *store, const char *path);
/* Makes @database, which no session goes on with, one file. True: it is closed; else later. */
bool recover_seal(struct store *store, struct store_database *database, bool is_last);
/* Tells the loop which processes of @session have not ended. database_errno(). */
int recover_processes(struct store_session *session);
/* Answers CONTROLS where it was told something, in this boot. */
int recover_controls(struct store_session *session);
/* As close_session.c's. */
int recover_end_process(
	struct store *store, struct store_database *database, const struct command *command);

/* close_session.c: one command each; 0, -EAGAIN: not yet (not_before_ns is set, or others have
 * their turn), or an error. */
int close_process(struct store *store, struct store_database *database, struct command *command,
	bool is_last);
int close_session(struct store *store, struct store_database *database, struct command *command,
	bool is_last);

/*
 * The end of a session that cannot be written: said, and the file left as it is. True: it was the
 * last of @database, which is gone.
 */
bool close_unwritten(
	struct store *store, struct store_database *database, struct store_session *session);

/* The row of a process that nobody can read any more, in the open transaction. */
int close_unread_row(struct writer *writer, int64_t process_id, enum store_ended how, int status);

/* statistics.c */
void stat_fill_process(struct store_process *process);
/* database_errno(): the last figures stand. */
int stat_fill_session(struct store_session *session, bool now);
/* To sum up a session takes as long as it has processes: where many end it is done for several of
 * them, at the end of a turn. */
void stat_want_session(struct store_session *session);
void stat_fill_due(struct store_database *database);

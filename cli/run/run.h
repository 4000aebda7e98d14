/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The parts of `rtl run`, one file each: options.c, output.c (what may be written where),
 * collector.c (find, elect, start, join), signals.c (those that come meanwhile), child.c (start,
 * signals, wait), result.c (the last words). cmd_run.c puts them in order. One thread; these
 * parts talk to stderr themselves, since what went wrong with rtl is all that a user of `rtl run`
 * gets to see of it.
 */
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "cli/run/gpu_watch.h"
#include "cli/run/selection_options.h"
#include "cli/collector/client.h"
#include "cli/database/verdict.h"
#include "cli/run/job_environment.h"
#include "cli/run/run_export.h"
#include "proto/settings/rank.h"

struct run_options {
	const char *verb;   /* run | trace */
	const char *output; /* -o, RTL_OUTPUT; NULL: none */
	const char *socket; /* --socket */
	const char *mode;
	struct choices choices;
	char *categories; /* the rules of --categories, RTL_CATEGORIES, for RunnerHello; NULL: none
			   */
	struct run_exports exports; /* --export */
	bool is_private;
	bool is_forced;
	bool is_aside; /* trace: an existing output is moved out of the way */
	bool is_strict;
	bool is_soft;
	bool is_quiet;
	bool is_verbose;
	char **command;
};

/* Exits on --help and on mistakes. */
void run_options_parse(struct run_options *options, int argc, char **argv);

/* Why something failed, for one line; what does not fit is cut. */
#define RUN_WHY_BYTES 512
void run_why(char why[RUN_WHY_BYTES], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- the launch that several `rtl run` belong to -------- ------------------------------------ */

struct run_launch {
	struct rank_info rank;
	/* The launcher's key (or, of a launcher that has none, its process), else a name of this
	 * rtl run alone. */
	char job[LABEL_BYTES_MAX];
	/* At a service, which goes on with a session that it has closed when its key comes again:
	 * of a launcher that has the same one for each launch, with its process. */
	char service_job[LABEL_BYTES_MAX];
	bool is_shared; /* others of the same launch may come with the same job */
	/* The process that started the ranks of this node; 0: not to be seen, or no launcher's. */
	pid_t launcher;
	unsigned long long launcher_start;
};

void run_launch_detect(struct run_launch *launch, const char *command);

/* ---- output --------------------------------------------------------------------------------- */

struct run_output {
	char path[PATH_MAX];  /* absolute */
	char local[PATH_MAX]; /* where it is recorded until it is published; "": in its place */
	bool is_default;      /* the user named none */
	char display[PATH_MAX];
};

/*
 * The name of an output of its @pattern: %p the pid of this process, %h the host, %j the job as a
 * session is named after it, %r the rank, %q{VARIABLE} an environment variable, %% a percent sign.
 * 0, or an exit status after having said what is unknown.
 */
int run_output_expand(const char *pattern, const struct run_launch *launch, char ret[PATH_MAX]);

/* Where a private collector would write. 0, or an exit status after having said why. */
int run_output_name(struct run_output *output, const struct run_options *options,
	const struct run_launch *launch);

/*
 * Whether a new database may be made there: refuses what exists (unless -f, trace) and a folder
 * that cannot be written. Changes nothing. 0; an exit status, said why; -errno: there is no
 * place for a name that the user did not choose, which never stops the job.
 */
int run_output_check(const struct run_output *output, const struct run_options *options);

/*
 * Make way: remove (-f) or move aside what is there; a default that is taken gets a number (in
 * @output). After run_output_check(), under the election's lock. Returns as that.
 */
int run_output_clear(struct run_output *output, const struct run_options *options);

/* Whether this file is there; or, of a default, one with a number, which is then @output's. */
bool run_output_is(struct run_output *output, uintmax_t device, uintmax_t inode);

/* Whether it is to lie on a network file system, where the collector does not store. */
bool run_output_is_remote(const struct run_output *output);

/*
 * Takes a local place for it (@output->local) and its name at the remote one; with @is_late what
 * lies there is gone on with. After run_output_clear(). 0; -errno, with @why.
 */
int run_output_go_local(struct run_output *output, const struct run_options *options, bool is_late,
	char why[RUN_WHY_BYTES]);

/* Nothing is recorded there after all. */
void run_output_leave_local(struct run_output *output);

/* Less than the collector's reserve is free: -ENOSPC with @why where the user named the output;
 * else it is said. */
int run_output_check_room(const struct run_output *output, const struct run_options *options,
	char why[RUN_WHY_BYTES]);

/* ---- collector ------------------------------------------------------------------------------ */

struct run_collector {
	struct client client;
	char session[LABEL_BYTES_MAX];
	char database[PATH_MAX];
	char socket[PLACES_SOCKET_BYTES];
	char publish[PATH_MAX]; /* where the closed database is to go; "": it is there */
	bool is_private;
	bool is_opening; /* its file is made, and the answer that it is open still to come */
	bool is_refused; /* it could not be opened, which was said while the command ran */
	uint64_t socket_device, socket_inode; /* of a private socket: whose name is removed */
	int log_fd;			      /* what the collector that we started says; -1 */
	struct run_keeper *keeper;	      /* of the one that we started; NULL: not ours */
	const struct run_launch *launch;      /* of a private one: borrowed */
	/* Of the latest RunnerHello, for the next: borrowed. */
	const struct run_options *options;
	const char *job, *display;
};

#define RUN_COLLECTOR_NONE                                                                         \
	{                                                                                          \
		.client = CLIENT_NONE, .log_fd = -1                                                \
	}

/*
 * Find, join or start the collector and open the session. 0: collector->client.fd >= 0, or the
 * job goes unrecorded and why was said; else an exit status (125), said why.
 */
int run_collector_attach(struct run_collector *collector, const struct run_options *options,
	const struct run_launch *launch);

void run_collector_done(struct run_collector *collector);

/*
 * A private collector that writes @output: the one of this launch, or a new one. 0: attached; an
 * exit status, said why; -errno: no collector, with @why as far as it is known.
 */
int run_private_attach(struct run_collector *collector, const struct run_options *options,
	const struct run_launch *launch, struct run_output *output, char why[RUN_WHY_BYTES]);

/* Only the one that this launch already has. 0 or -errno. */
int run_private_join(struct run_collector *collector, const struct run_options *options,
	const struct run_launch *launch, const struct run_output *output);

/* The session is closed and we were the last: take the socket's name away. */
void run_private_forget(const struct run_collector *collector);

/* The database is another file now, for ranks of the launch that are still to come. */
void run_private_note_file(const struct run_collector *collector);

/* The session is closed, and we were the last: its file goes to where it was to be. False: it could
 * not, which was said. */
bool run_publish(struct run_collector *collector);

/* RunnerHello and its answer, before there is a command whose signals could wait: it blocks; with
 * @is_early not for what only the disk can fail. 0, or as client_receive(). */
int run_collector_greet(struct run_collector *collector, const struct run_options *options,
	const char *job, const char *output, bool is_early);

/* The two halves of it, to send the same RunnerHello again on a new connection. The message may lie
 * in the socket's queue before a collector is there to read it. A caller that waits for several
 * things waits for the answer itself. */
int run_collector_say_hello(struct run_collector *collector, bool is_early);
/* 0; -EBADMSG: @reply is none. */
int run_collector_take(struct run_collector *collector, const Rtl__Frame *reply);

struct verdict;

/*
 * While is_opening, once there is something to read: whether it is open. Never waits. What its end
 * is to know of a connection that broke it sees itself.
 */
void run_collector_hear(struct run_collector *collector);
/* @error: what the answer was instead. Says so, and lets go of the collector. */
void run_collector_refused(struct run_collector *collector, int error);

/* The last words of the session as a service has them. 0; -ENOENT: it does not know it; -errno. */
int run_told_verdict(const struct run_collector *collector, struct verdict **ret);

/* ---- keeper: of the collector that we started (supervisor.c) -------------------------------- */

/*
 * For callers that poll the collector's pidfd themselves. Readable when the collector has sent an
 * FDSTORE or FDSTOREREMOVE message, which run_keeper_receive() handles. The process that closes a
 * recorder last frees its memory, which takes time: by then the collector has closed it, so a
 * thread of rtl run does that.
 */
int run_keeper_notify_fd(const struct run_collector *collector);
void run_keeper_receive(struct run_collector *collector);

/* The descriptor that a waiting caller polls for input; -1: there is none. */
int run_keeper_fd(const struct run_collector *collector);

/* Does what is due, and never waits. True: the collector had died; there is another one, which has
 * just taken us in. */
bool run_keeper_serve(struct run_collector *collector);

/* False: the collector that we started has died, and is not yet started again. */
bool run_keeper_lives(const struct run_collector *collector);

/* Of a collector that we started, and that lives; else 0. */
pid_t run_keeper_pid(const struct run_collector *collector);

/* Kills a collector that is useless to us and serves no other process: it would keep its file. */
void run_keeper_kill(const struct run_collector *collector);

/* False as well: it was started again, and it is still to be seen whether it takes us in. */
bool run_keeper_is_up(const struct run_collector *collector);

/* ---- hold ----------------------------------------------------------------------------------- */

/*
 * rtl run may be told to end (SIGINT, SIGTERM, SIGHUP, SIGQUIT) when its collector runs but the
 * command does not run yet: the collector would wait for ranks that never start, and keep its file
 * in use. From run_hold() on these signals are pending until the command is started, which then
 * gets them; signals that are ignored or blocked stay so. A second call changes nothing.
 */
void run_hold(void);

/* Whether it is one of these four. */
bool run_hold_is_end(int signal_number);

/* One that came meanwhile; 0: none. The command is not started then, and the session is closed. */
int run_hold_pending(void);

/* No command was started. Where one came, it ends us here. */
void run_hold_release(void);

/* How long rtl run waits for a silent collector once it was told to end. */
#define RUN_HURRY_MS 2000u

/* ---- child ---------------------------------------------------------------------------------- */

/*
 * The file that @command names, as a shell finds it. 0, or CMD_NOT_FOUND, CMD_NOT_EXECUTABLE
 * after having said so.
 */
int run_child_find(const char *command);

/* Children that the process had before it became rtl; more are taken for the command's. */
#define RUN_INHERITED_MAX 64u

struct run_child {
	pid_t pid;
	int signal_fd;	  /* the signals that we pass on, and SIGCHLD */
	int status;	  /* wait status, once it has ended */
	bool is_recorded; /* set before the start: what it leaves behind matters */
	struct sigaction old_child, old_pipe; /* of SIGCHLD, SIGPIPE: the command's to inherit */
	sigset_t old_mask;		      /* likewise */
	struct rlimit old_descriptors;	      /* likewise; supervisor.c may need more of them */
	pid_t inherited[RUN_INHERITED_MAX];   /* children that are none of the command's */
	size_t n_inherited;
	struct gpu_watch gpu_watch; /* filled in by run_child_wait() */
};

/* Before anything is started. */
void run_child_init(struct run_child *child);

/* Takes over the signals, then starts. 0, or an exit status: said why, or run_hold_pending(). */
int run_child_start(struct run_child *child, char **command, const struct jobenv *env);

/*
 * Wait for its end, passing signals on and keeping the collector up. Returns the exit status that
 * a shell would give.
 */
int run_child_wait(struct run_child *child, struct run_collector *collector);

/* After run_child_wait(): whether SIGINT, SIGTERM, SIGHUP or SIGQUIT came since the last look. */
bool run_child_is_end_wanted(const struct run_child *child);

/*
 * After run_child_wait(): waits for what the command left running, which may be ranks that the
 * collector does not know yet, until @deadline_ns (CLOCK_MONOTONIC) or until the user wants to
 * end (SIGINT, SIGTERM, SIGHUP, SIGQUIT). Returns how many still run; their
 * pids, at most @max of them, in @ret.
 */
size_t run_orphans_wait(const struct run_child *child, struct run_collector *collector,
	uint64_t deadline_ns, pid_t *ret, size_t max);
/* Before the command is started: what it leaves behind becomes ours to wait for. */
void run_orphans_adopt(struct run_child *child);

/* ---- first words ---------------------------------------------------------------------------- */

/*
 * Says so where the command would load a runtime that is known to fail programs, and the fault is
 * one that this job can meet. One line of a launch; most jobs are not looked at. Blocks while the
 * runtime comes up.
 */
void run_say_known(const struct run_options *options, const struct run_launch *launch,
	const char *shim, const char *softgpu);

/* ---- last words ----------------------------------------------------------------------------- */

/* Why queues of the command were not followed, and what to do about it: a line for each reason. */
void run_say_unfollowed(struct query *query, const struct verdict *verdict);

/*
 * The command has ended with @status: close the session, wait for it, print the last line.
 * Returns the exit status of rtl.
 */
int run_verdict(struct run_collector *collector, const struct run_options *options,
	const struct run_child *child, int status);

/*
 * It was not started, for which the reason was said, and @status tells: close the session without a
 * word. Else its collector would wait for a rank and keep its file in use. False: the session is
 * not known to be closed.
 */
bool run_verdict_unstarted(struct run_collector *collector, struct run_child *child, int status);

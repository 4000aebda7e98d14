/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The parts of `rtl run`, one file each: options.c, output.c (which file may be written where),
 * collector.c (find, elect, start, join), signals.c (signals before the command starts), child.c
 * (start, signals, wait), result.c (the last lines). cmd_run.c calls them in order. There is one
 * thread. These parts write to stderr themselves, because errors of rtl are all that a user of `rtl
 * run` sees of it.
 */
#include <argp.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "cli/run/gpu_watch.h"
#include "cli/run/selection_options.h"
#include "cli/collector/client.h"
#include "cli/database/session/verdict.h"
#include "cli/run/job_environment.h"
#include "cli/run/run_export.h"
#include "proto/settings/rank.h"

struct run_options {
	const char *verb;   /* run | trace */
	const char *output; /* -o or RTL_OUTPUT; NULL if there is none */
	const char *socket; /* --socket */
	const char *mode;
	struct choices choices;
	/* The rules of --categories or RTL_CATEGORIES, for RunnerHello; NULL if there are none. */
	char *categories;
	struct run_exports exports; /* --export */
	bool is_private;
	/* As rtl.conf says it, and nothing else; the latter of the output, too. */
	bool is_socket_configured, is_private_configured;
	bool is_forced;
	bool is_aside; /* trace: an existing output is moved aside */
	bool is_strict;
	bool is_soft;
	bool is_quiet;
	bool is_verbose;
	char **command;
};

extern const struct argp run_argp;

/* Exits on --help and on wrong options. */
void run_options_parse(struct run_options *options, int argc, char **argv);

/* The reason for a failure, for one line; longer text is cut off. */
#define RUN_WHY_BYTES 512
void run_why(char why[RUN_WHY_BYTES], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- the launch that several `rtl run` belong to --------------------------------------- */

struct run_launch {
	struct rank_info rank;
	/*
	 * The launcher's key, or its process if it has no key, or a name that only this rtl run
	 * has.
	 */
	char job[LABEL_BYTES_MAX];
	/*
	 * The key for a service. A service continues a closed session when its key comes again, so
	 * if a launcher uses the same key for each launch, this one contains the launcher's
	 * process.
	 */
	char service_job[LABEL_BYTES_MAX];
	bool is_shared; /* other runs of the same launch may come with the same job */
	/*
	 * The process that started the ranks of this node; 0 if it cannot be seen or is no
	 * launcher.
	 */
	pid_t launcher;
	unsigned long long launcher_start;
};

void run_launch_detect(struct run_launch *launch, const char *command);

/* ---- output --------------------------------------------------------------------------------- */

struct run_output {
	char path[PATH_MAX]; /* absolute */
	/* Where it is recorded until it is published; "" if it is recorded in its place. */
	char local[PATH_MAX];
	bool is_default; /* the user gave no name */
	char display[PATH_MAX];
};

/*
 * Expands @pattern to the name of an output: %p is the pid of this process, %h the host, %j the job
 * as in the session's name, %r the rank, %q{VARIABLE} an environment variable, %% a percent sign.
 * Returns 0, or an exit status after a message about an unknown field.
 */
int run_output_expand(const char *pattern, const struct run_launch *launch, char ret[PATH_MAX]);

/*
 * Returns where a private collector would write. The result is 0, or an exit status after a
 * message.
 */
int run_output_name(struct run_output *output, const struct run_options *options,
	const struct run_launch *launch);

/*
 * Checks whether a new database may be created there: refuses an existing file (unless -f or trace)
 * and a folder that cannot be written. Changes nothing. Returns 0; an exit status after a message;
 * or -errno if a name that the user did not choose cannot be used, which never stops the job.
 */
int run_output_check(const struct run_output *output, const struct run_options *options);

/*
 * Makes room: removes (-f) or moves aside an existing file; if a default name is taken, @output
 * gets a number. Called after run_output_check(), with the election's lock held. Returns the same
 * values.
 */
int run_output_clear(struct run_output *output, const struct run_options *options);

/*
 * True if @output is the file @device, @inode. With a default name the numbered names are tried,
 * too; @output becomes the one that matches.
 */
bool run_output_is(struct run_output *output, uintmax_t device, uintmax_t inode);

/* True if it would be on a network file system, where the collector does not store files. */
bool run_output_is_remote(const struct run_output *output);

/*
 * Chooses a local place for the file (@output->local) and reserves its name at the remote place;
 * with @is_late an existing file there is continued. Called after run_output_clear(). Returns 0, or
 * -errno with @why.
 */
int run_output_go_local(struct run_output *output, const struct run_options *options, bool is_late,
	char why[RUN_WHY_BYTES]);

/* Called if nothing is recorded there after all. */
void run_output_leave_local(struct run_output *output);

/*
 * Checks that more than the collector's reserve is free. If not: -ENOSPC with @why if the user
 * named the output, otherwise only a message.
 */
int run_output_check_room(const struct run_output *output, const struct run_options *options,
	char why[RUN_WHY_BYTES]);

/* ---- collector ------------------------------------------------------------------------------ */

struct run_collector {
	struct client client;
	char session[LABEL_BYTES_MAX];
	char database[PATH_MAX];
	char socket[PLACES_SOCKET_BYTES];
	/* Where the closed database is to be moved; "" if it is there already. */
	char publish[PATH_MAX];
	bool is_private;
	bool is_opening; /* the file is created, and the answer that it is open has not come yet */
	bool is_refused; /* it could not be opened, which was reported while the command ran */
	uint64_t socket_device, socket_inode; /* of a private socket whose name is to be removed */
	int log_fd;		   /* log of the collector that we started; -1 if there is none */
	struct run_keeper *keeper; /* of the collector that we started; NULL if it is not ours */
	const struct run_launch *launch; /* of a private collector; borrowed */
	/* Contents of the latest RunnerHello, for the next one; borrowed. */
	const struct run_options *options;
	const char *job, *display;
};

#define RUN_COLLECTOR_NONE                                                                         \
	{                                                                                          \
		.client = CLIENT_NONE, .log_fd = -1                                                \
	}

/*
 * Finds, joins or starts the collector and opens the session. Returns 0 if collector->client.fd >=
 * 0 or the job goes unrecorded, after a message why; otherwise an exit status (125), after a
 * message.
 */
int run_collector_attach(struct run_collector *collector, const struct run_options *options,
	const struct run_launch *launch);

void run_collector_done(struct run_collector *collector);

/* Lets rtl ls and the verbs find a private run by its session's name, wherever its file lies. Does
 * nothing of another, or while its file is not known. */
void run_list_private(const struct run_collector *collector);

/*
 * Attaches to a private collector that writes @output: that of this launch, or a new one. Returns 0
 * if attached; an exit status after a message; or -errno if there is no collector, with @why if the
 * reason is known.
 */
int run_private_attach(struct run_collector *collector, const struct run_options *options,
	const struct run_launch *launch, struct run_output *output, char why[RUN_WHY_BYTES]);

/* Attaches only to a collector that this launch already has. Returns 0 or -errno. */
int run_private_join(struct run_collector *collector, const struct run_options *options,
	const struct run_launch *launch, const struct run_output *output);

/* Removes the socket's name after the session has been closed and we were its last runner. */
void run_private_forget(const struct run_collector *collector);

/* Records that the database is another file now, for ranks of the launch that start later. */
void run_private_note_file(const struct run_collector *collector);

/*
 * Moves the file to its final place after the session has been closed and we were its last runner.
 * Returns false, after a message, if that failed.
 */
bool run_publish(struct run_collector *collector);

/*
 * Sends RunnerHello and waits for the answer, before a command runs whose signals would have to
 * wait. With @is_early it does not wait for errors that only the disk can cause. Returns 0 or the
 * errors of client_receive().
 */
int run_collector_greet(struct run_collector *collector, const struct run_options *options,
	const char *job, const char *output, bool is_early);

/*
 * The two halves of run_collector_greet(), to send the same RunnerHello on a new connection. The
 * message may be in the socket's queue before a collector reads it. A caller that waits for several
 * events waits for the answer itself.
 */
int run_collector_say_hello(struct run_collector *collector, bool is_early);
/* Returns 0, or -EBADMSG if @reply is not an answer to RunnerHello. */
int run_collector_take(struct run_collector *collector, const Rtl__Frame *reply);

struct verdict;

/*
 * Called while is_opening is set, when the connection is readable: checks whether the file is open.
 * Never waits. A connection that broke is handled at the end of the session.
 */
void run_collector_hear(struct run_collector *collector);
/* Reports that the collector refused with @error, and disconnects from it. */
void run_collector_refused(struct run_collector *collector, int error);

/*
 * Returns the verdict of the session from a service. The result is 0, -ENOENT if the service does
 * not know the session, or -errno.
 */
int run_told_verdict(const struct run_collector *collector, struct verdict **ret);

/* ---- keeper of the collector that we started (supervisor.c) ---------------------------- */

/*
 * For callers that poll the collector's pidfd themselves. Readable when the collector has sent an
 * FDSTORE or FDSTOREREMOVE message, which run_keeper_receive() handles. The last process to close a
 * recorder frees its memory, which takes time: the collector has closed it by then, so a thread of
 * rtl run closes it.
 */
int run_keeper_notify_fd(const struct run_collector *collector);
void run_keeper_receive(struct run_collector *collector);

/* The descriptor that a waiting caller polls for input; -1 if there is none. */
int run_keeper_fd(const struct run_collector *collector);

/*
 * Does what is due, and never waits. True if the collector had died and another one has just
 * accepted us.
 */
bool run_keeper_serve(struct run_collector *collector);

/* False if the collector that we started has died and is not running again yet. */
bool run_keeper_lives(const struct run_collector *collector);

/* Pid of a collector that we started and that is alive, otherwise 0. */
pid_t run_keeper_pid(const struct run_collector *collector);

/*
 * Kills a collector that we cannot use and that serves no other process, because it would keep its
 * file in use.
 */
void run_keeper_kill(const struct run_collector *collector);

/* Also false while a restarted collector has not accepted us yet. */
bool run_keeper_is_up(const struct run_collector *collector);

/* ---- signals before the command starts ------------------------------------------------- */

/*
 * rtl run may be asked to end (SIGINT, SIGTERM, SIGHUP, SIGQUIT) when its collector runs but the
 * command does not run yet: the collector would wait for ranks that never start, and keep its file
 * in use. From run_hold() on these signals are pending until the command is started, which then
 * receives them; ignored and blocked signals stay so. A second call changes nothing.
 */
void run_hold(void);

/* True for one of these four signals. */
bool run_hold_is_end(int signal_number);

/*
 * The signal that came meanwhile; 0 if none did. If one did, the command is not started, and the
 * session is closed.
 */
int run_hold_pending(void);

/* Called if no command was started. A signal that came meanwhile ends this process here. */
void run_hold_release(void);

/* How long rtl run waits for a silent collector after it was asked to end. */
#define RUN_HURRY_MS 2000u

/* ---- child ---------------------------------------------------------------------------------- */

/*
 * Finds the file that @command names, as a shell does. Returns 0, or CMD_NOT_FOUND or
 * CMD_NOT_EXECUTABLE after a message.
 */
int run_child_find(const char *command);

/*
 * Children that the process had before it became rtl; beyond this number they are taken for the
 * command's.
 */
#define RUN_INHERITED_MAX 64u

struct run_child {
	pid_t pid;
	int signal_fd;	  /* for the signals that we pass on, and SIGCHLD */
	int status;	  /* wait status, valid once it has ended */
	bool is_recorded; /* set before the start: processes that it leaves behind are waited for */
	/* For SIGCHLD and SIGPIPE: the command inherits them. */
	struct sigaction old_child, old_pipe;
	sigset_t old_mask; /* the command inherits it */
	/* The command inherits it; supervisor.c may need more descriptors. */
	struct rlimit old_descriptors;
	pid_t inherited[RUN_INHERITED_MAX]; /* children that do not belong to the command */
	size_t n_inherited;
	struct gpu_watch gpu_watch; /* filled in by run_child_wait() */
};

/* Called before anything is started. */
void run_child_init(struct run_child *child);

/*
 * Takes over the signals, then starts the command. Returns 0, or an exit status after a message or
 * if run_hold_pending().
 */
int run_child_start(struct run_child *child, char **command, const struct jobenv *env);

/*
 * Waits for the end of the command while passing signals on and restarting a collector that died.
 * Returns the exit status that a shell would return.
 */
int run_child_wait(struct run_child *child, struct run_collector *collector);

/* After run_child_wait(): true if SIGINT, SIGTERM, SIGHUP or SIGQUIT came since the last call. */
bool run_child_is_end_wanted(const struct run_child *child);

/*
 * After run_child_wait(): waits for processes that the command left running, which may be ranks
 * that the collector does not know yet, until @deadline_ns (CLOCK_MONOTONIC) or until the user
 * wants to end (SIGINT, SIGTERM, SIGHUP, SIGQUIT). Returns how many still run, with at most @max of
 * their pids in @ret.
 */
size_t run_orphans_wait(const struct run_child *child, struct run_collector *collector,
	uint64_t deadline_ns, pid_t *ret, size_t max);
/*
 * Called before the command is started: processes that it leaves behind become our children, so
 * that we can wait for them.
 */
void run_orphans_adopt(struct run_child *child);

/* ---- first lines ----------------------------------------------------------------------- */

/*
 * Warns if the command would load a runtime with a known fault that this job can meet. One process
 * of a launch prints the line; most jobs are not examined. Blocks while the runtime starts.
 */
void run_say_known(const struct run_options *options, const struct run_launch *launch,
	const char *shim, const char *softgpu);

/* ---- last lines ------------------------------------------------------------------------ */

/*
 * Prints why queues of the command were not followed and what to do about it, one line for each
 * reason.
 */
void run_say_unfollowed(struct query *query, const struct verdict *verdict);

/*
 * The command has ended with @status: closes the session, waits for it, and prints the last line.
 * Returns the exit status of rtl.
 */
int run_verdict(struct run_collector *collector, const struct run_options *options,
	const struct run_child *child, int status);

/*
 * The command was not started, the reason was printed, and @status is the exit status: closes the
 * session without a message. Otherwise its collector would wait for a rank and keep its file in
 * use. Returns false if the session may not be closed.
 */
bool run_verdict_unstarted(struct run_collector *collector, struct run_child *child, int status);

/* SPDX-License-Identifier: MIT */
#include "shim/send/worker.h"
#include "shim/base/glibc_compat.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "shim/send/anchors.h"
#include "shim/send/connection.h"
#include "shim/capture/tables/copy_times.h"
#include "shim/base/wakeup.h"
#include "shim/events/frames.h"
#include "shim/events/events.h"
#include "shim/base/fd.h"
#include "shim/base/gate.h"
#include "shim/capture/harvest.h"
#include "shim/capture/pacing.h"
#include "shim/base/wait.h"
#include "shim/record/rank_changes.h"
#include "shim/record/recording_intervals.h"
#include "shim/capture/front_ends/shadow.h"
#include "shim/base/log.h"
#include "shim/record/telemetry.h"
#include "shim/base/tsc_clock.h"

/*
 * The thread's own frames are small, but glibc also puts the static TLS of all libraries on the
 * stack.
 */
#define STACK_BYTES	 (512u << 10)
/* Records wait at most this long for the anchors and counters that precede them. */
#define TELEMETRY_NS	 (FLUSH_NS / 4)
/* Interval of anchors without a collector: the 16 that are kept span eight seconds. */
#define ANCHOR_AWAY_NS	 500000000u
/* A counter's rate is measured over this long if the runtime does not report it. */
#define CALIBRATION_NS	 1000000u
/*
 * worker_settle() waits up to this many times longer on a busy machine, where this thread, the shim
 * thread and a software GPU share the processor.
 */
#define SETTLE_TIMES_MAX 20u
/* Interval of checks for what is still in flight at the end. */
#define FINISH_STEP_NS	 200000u

struct worker {
	struct worker_setup setup;
	struct recorder *recorder;
	pthread_t thread;
	bool is_running;  /* the threads of OnLoad and OnUnload */
	bool is_lost;	  /* the same */
	bool is_quiet;	  /* set before stop_ns: no dispatch comes any more */
	bool has_greeted; /* only with is_alone: the collector has our Hello, or will read it */
	int wake;	  /* eventfd; -1 if there is none */
	_Atomic uint64_t wake_mark; /* fd_mark() of wake; 0 until the thread has read it */
	_Atomic uint64_t stop_ns;   /* 0, or the deadline of the end */
	_Atomic uint64_t hurry_ns;  /* until then harvest without pause: the program ends */
	_Atomic uint64_t decide_ns; /* from then on, times that are not there are given up */
	_Atomic bool is_known;	    /* the collector has our Hello, or there is none */
	_Atomic bool is_last_try;   /* set when the program ends, until connected or tried */
	_Atomic bool is_done;	    /* the thread does not use our memory any more */

	/* Used by the shim thread only. */
	struct conn conn;
	bool has_conn;
	bool is_deaf; /* `wake` was closed by the program */
	uint8_t *hello;
	struct telemetry telemetry;
	uint64_t harvest_period_ns;
	uint64_t next_harvest_ns;
	bool is_idle;		 /* the last harvest found nothing to wait for */
	uint64_t awake_until_ns; /* no doze before, because wakeups come in groups */
	uint64_t last_telemetry_ns;
	uint64_t cost_noted_at; /* frames published then */
	struct anchors anchors;
};

static struct worker worker = {.wake = -1, .conn.fd = -1};

/* Reading the mark of an eventfd opens a file, so it is not done in OnLoad. */
static void wake_mark_read(struct worker *w)
{
	uint64_t mark = fd_mark(w->wake);

	atomic_store_explicit(&w->wake_mark, mark ? mark : 1, memory_order_release);
}

/* Until the thread has read the mark, the program has had no time to close the descriptor. */
static bool wake_is_ours(const struct worker *w)
{
	uint64_t mark = atomic_load_explicit(&w->wake_mark, memory_order_acquire);

	return w->wake >= 0 && (!mark || fd_is(w->wake, mark));
}

static void worker_wake(struct worker *w)
{
	uint64_t one = 1;
	ssize_t written;

	if (!wake_is_ours(w))
		return;
	written = write(w->wake, &one, sizeof(one));
	(void)written; /* on failure the thread notices a period later */
}

/* Sleeps, but wakes up early when the end has come. */
static void worker_sleep(struct worker *w, uint64_t ns)
{
	struct pollfd wake = {.fd = w->wake, .events = POLLIN};
	struct timespec timeout = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	ppoll(&wake, 1, &timeout, NULL);
}

/* Determines the rates that the runtime does not report. */
static void clocks_calibrate(struct worker *w)
{
	if (anchors_have_rates(&w->anchors))
		return;
	worker_sleep(w, CALIBRATION_NS);
	anchors_rate(&w->anchors);
}

/* Whether there is a connection, or may be one. */
static bool may_connect(const struct worker *w)
{
	return w->has_conn && !w->setup.is_alone;
}

/* ---- the loop -------------------------------------------------------------------------- */

/* What this thread has cost so far goes with what it sends; by itself it is no news, or there would
 * always be some. */
static void cost_note(struct worker *w, bool is_forced)
{
	uint64_t published = recorder_published(w->recorder);
	struct timespec spent;

	if (w->setup.is_alone || (!is_forced && published == w->cost_noted_at) ||
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent))
		return;
	w->cost_noted_at = published;
	recorder_set(w->recorder, RTL_P_thread_us,
		(uint64_t)spent.tv_sec * 1000000u + (uint64_t)spent.tv_nsec / 1000u);
}

static void worker_flush(struct worker *w, uint64_t now_ns, bool is_forced)
{
	bool is_whole = false;
	bool has_records = anchors_are_due(&w->anchors);
	uint8_t *at;

	if (!may_connect(w))
		return;
	if (w->conn.state != CONN_STREAMING) {
		if (has_records && now_ns - w->anchors.last_ns > ANCHOR_AWAY_NS)
			anchors_take(&w->anchors, now_ns);
		return;
	}
	if (!is_forced && now_ns - w->last_telemetry_ns <
				  (conn_wants_telemetry(&w->conn) ? TELEMETRY_NS : FLUSH_NS))
		return;
	at = conn_telemetry(&w->conn, &is_whole);
	if (!at)
		return;
	/* Taken after the harvest, so that the harvested ticks are between two anchors. */
	if (has_records || is_whole)
		anchors_take(&w->anchors, now_ns);
	cost_note(w, is_forced);
	conn_put_telemetry(&w->conn, telemetry_encode(&w->telemetry, w->recorder, is_whole, at));
	w->last_telemetry_ns = now_ns;
}

/* Returns whether copies are left whose times are not known yet. */
static bool copies_harvest(struct worker *w)
{
	bool is_busy;

	if (!harvest_runtime_hold(w->setup.capture))
		return false;
	is_busy = copy_watch_poll();
	harvest_runtime_release(w->setup.capture);
	return is_busy;
}

static void wake_from_doze(void)
{
	worker_wake(&worker);
}

/* Whether a pass before DOZE_NS is over would find nothing, apart from events that end the doze. */
static bool may_doze(struct worker *w, uint64_t now_ns)
{
	return gate_is_shut(gate_load(&gate_word)) && w->is_idle && now_ns >= w->awake_until_ns &&
	       !w->is_deaf && w->has_conn && w->conn.state == CONN_STREAMING &&
	       !conn_is_busy(&w->conn) && !conn_wants_telemetry(&w->conn) &&
	       !capture_pending(w->setup.capture) && event_frames_is_done(w->recorder) &&
	       shadow_is_settled(w->setup.capture);
}

/*
 * Checked twice: a thread that changed something in between may have seen us awake, and not woken
 * us.
 */
static void worker_doze(struct worker *w, uint64_t now_ns)
{
	bool was_on = doze_is_on();

	if (may_doze(w, now_ns) && (was_on || wake_is_ours(w))) {
		doze_begin();
		if (may_doze(w, now_ns)) {
			if (!was_on)
				w->next_harvest_ns = now_ns + DOZE_NS;
			w->harvest_period_ns = DOZE_NS;
			return;
		}
	}
	doze_end();
	/* It was told to record, was woken, or has lost its collector. */
	if (was_on)
		w->next_harvest_ns = 0;
}

static uint64_t busy_period_ns(struct worker *w)
{
	uint64_t queues_ns = pace_pause_ns(capture_pace(w->setup.capture));
	uint64_t rings_ns = event_frames_pause_ns();

	return queues_ns < rings_ns ? queues_ns : rings_ns;
}

static void worker_harvest(struct worker *w, uint64_t now_ns)
{
	bool is_hurried = now_ns < atomic_load_explicit(&w->hurry_ns, memory_order_acquire);
	bool is_busy = true;

	doze_end();
	if (is_hurried && now_ns >= atomic_load_explicit(&w->decide_ns, memory_order_relaxed))
		harvest_last(w->setup.capture, now_ns);
	else if (is_hurried)
		harvest_flush(w->setup.capture, now_ns);
	else
		is_busy = harvest_run(w->setup.capture, now_ns);
	is_busy |= copies_harvest(w);
	is_busy |= event_frames_run(w->setup.capture, w->setup.strings, now_ns, is_hurried);
	if (is_hurried)
		w->harvest_period_ns = FINISH_STEP_NS;
	else if (is_busy)
		w->harvest_period_ns = busy_period_ns(w);
	else if (w->harvest_period_ns < HARVEST_IDLE_NS)
		w->harvest_period_ns *= 2;
	if (w->harvest_period_ns > HARVEST_IDLE_NS)
		w->harvest_period_ns = HARVEST_IDLE_NS;
	w->is_idle = !is_busy;
	w->next_harvest_ns = now_ns + w->harvest_period_ns;
}

static void worker_wait(struct worker *w)
{
	struct pollfd poll_fds[2] = {
		{.fd = w->is_deaf ? -1 : w->wake, .events = POLLIN},
		{.fd = w->conn.fd, .events = conn_events(&w->conn)},
	};
	uint64_t now_ns = clock_boottime_ns();
	uint64_t next_ns =
		w->next_harvest_ns < gate_next_ns() ? w->next_harvest_ns : gate_next_ns();
	uint64_t wait_ns = next_ns > now_ns ? next_ns - now_ns : 0;
	uint64_t most_ns = doze_is_on() ? DOZE_NS : HARVEST_IDLE_NS;
	uint64_t ns = wait_ns < most_ns ? wait_ns : most_ns;
	struct timespec timeout = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
	uint64_t woken;

	ppoll(poll_fds, w->conn.fd >= 0 ? 2 : 1, &timeout, NULL);
	if (!poll_fds[0].revents)
		return;
	/*
	 * Otherwise the program has closed the descriptor, or it reports an error; it must not end
	 * every later wait at once.
	 */
	if (wake_is_ours(w) && read(w->wake, &woken, sizeof(woken)) == sizeof(woken)) {
		w->next_harvest_ns = 0;
		w->harvest_period_ns = HARVEST_NS;
		w->awake_until_ns = clock_boottime_ns() + DOZE_NS;
	} else {
		w->is_deaf = true;
	}
}

/* BOOTTIME never goes back. If it did, this would not wait until the old time is reached again. */
static bool harvest_is_due(const struct worker *w, uint64_t now_ns)
{
	return now_ns >= w->next_harvest_ns || w->next_harvest_ns - now_ns > w->harvest_period_ns;
}

/*
 * Called after the harvest: what was recorded before the gate was closed is in flight or published.
 */
static bool has_published_all(struct worker *w)
{
	return !gate_is_open(gate_load(&gate_word)) && w->is_idle &&
	       !capture_pending(w->setup.capture) && event_frames_is_done(w->recorder) &&
	       shadow_is_settled(w->setup.capture);
}

static void worker_talk(struct worker *w, uint64_t now_ns)
{
	bool is_last_try = atomic_load_explicit(&w->is_last_try, memory_order_acquire);
	uint32_t changes = gate_changes();

	if (is_last_try && w->has_conn)
		conn_hurry(&w->conn);
	conn_settle(&w->conn, has_published_all(w));
	conn_step(&w->conn, now_ns);
	if (gate_changes() != changes)
		w->next_harvest_ns = 0;
	if (w->conn.item != CONN_HELLO)
		atomic_store_explicit(&w->is_known, true, memory_order_release);
	if (is_last_try && (w->conn.state != CONN_AWAY || !conn_is_busy(&w->conn)))
		atomic_store_explicit(&w->is_last_try, false, memory_order_release);
}

static void worker_loop(struct worker *w)
{
	doze_open(wake_from_doze);
	while (!atomic_load_explicit(&w->stop_ns, memory_order_acquire)) {
		uint64_t now_ns = clock_boottime_ns();

		gate_tick(now_ns);
		rank_changes_run(w->recorder);
		if (recording_run(w->recorder)) {
			conn_tell_state(&w->conn);
			w->next_harvest_ns = 0; /* to provide slots if the gate is open now */
		}
		if (harvest_is_due(w, now_ns))
			worker_harvest(w, now_ns);
		worker_flush(w, now_ns, false);
		worker_talk(w, now_ns);
		worker_doze(w, now_ns);
		worker_wait(w);
	}
	/*
	 * Otherwise the next range would wake a thread that is gone, through a descriptor that may
	 * be another file.
	 */
	doze_close();
}

/*
 * Records the last changes of rank and of recording: at the end it is now or never. Returns false
 * while another thread, which may have no processor, is recording earlier ones.
 */
static bool record_last_changes(struct worker *w)
{
	bool has_rank = rank_changes_end(w->recorder);
	bool has_recordings = recording_end(w->recorder);

	return has_rank && has_recordings;
}

/*
 * Waits until the last changes, and everything that ends before the deadline, are in frames.
 * Returns the time.
 */
static uint64_t worker_gather(struct worker *w, uint64_t deadline_ns)
{
	uint64_t now_ns = clock_boottime_ns();
	bool has_changes = false;

	if (may_connect(w))
		conn_hurry(&w->conn);
	for (;;) {
		bool is_last = now_ns + FINISH_STEP_NS >= deadline_ns;

		has_changes = has_changes || record_last_changes(w);
		if (is_last)
			harvest_last(w->setup.capture, now_ns);
		else
			harvest_flush(w->setup.capture, now_ns);
		(void)event_frames_run(w->setup.capture, w->setup.strings, now_ns, true);
		if (is_last || (has_changes && !capture_pending(w->setup.capture)))
			break;
		conn_step(&w->conn, now_ns);
		nanosleep(&(struct timespec){.tv_nsec = FINISH_STEP_NS}, NULL);
		now_ns = clock_boottime_ns();
	}
	return now_ns;
}

/*
 * The end: dispatches on the device get until the deadline to finish; then finished records are
 * sent as far as the socket takes them. The collector reads the rest from the recorder.
 */
static void worker_finish(struct worker *w)
{
	uint64_t deadline_ns = atomic_load_explicit(&w->stop_ns, memory_order_acquire), now_ns;

	now_ns = worker_gather(w, deadline_ns);
	if (anchors_are_due(&w->anchors))
		anchors_take(&w->anchors, now_ns);
	/* Where the connection takes no more, the recorder has it. */
	cost_note(w, true);
	if (w->is_quiet && !capture_pending(w->setup.capture) &&
		event_frames_is_done(w->recorder)) {
		recorder_bye(w->recorder);
		conn_bye(&w->conn);
	}
	/* Usually the socket takes all of it at once. Two rounds, since telemetry goes first. */
	for (int i = 0; i < 2; i++) {
		worker_flush(w, now_ns, true);
		conn_step(&w->conn, now_ns);
	}
	while (conn_is_busy(&w->conn) && now_ns + FINISH_STEP_NS < deadline_ns) {
		struct pollfd room = {.fd = w->conn.fd, .events = POLLOUT};

		ppoll(&room, 1, &(struct timespec){.tv_nsec = FINISH_STEP_NS}, NULL);
		now_ns = clock_boottime_ns();
		worker_flush(w, now_ns, conn_wants_telemetry(&w->conn));
		conn_step(&w->conn, now_ns);
	}
	if (w->has_conn && !w->has_greeted)
		conn_last_words(&w->conn);
	slog_debug(1, "ended: %llu frames published, %llu records pending",
		(unsigned long long)recorder_published(w->recorder),
		(unsigned long long)capture_pending(w->setup.capture));
}

static bool greet(struct worker *w)
{
	size_t bytes = 0;

	w->hello = hello_encode(&w->setup.hello, &bytes);
	if (w->hello)
		recorder_put_hello(w->recorder, w->hello, bytes);
	w->has_conn =
		w->hello && !conn_init(&w->conn, w->recorder, w->setup.socket, w->hello, bytes);
	if (w->has_conn) {
		w->conn.is_quiet = !rank_is_first(w->setup.hello.rank);
		conn_greet(&w->conn, clock_boottime_ns());
	}
	return w->has_conn;
}

/*
 * Without a shim thread: done by the caller at once. A collector that does not answer now is not
 * asked again.
 */
static void greet_alone(struct worker *w)
{
	ticks_look();
	clocks_calibrate(w);
	w->has_greeted = greet(w) && w->conn.state == CONN_GREETING && w->conn.item == CONN_NOTHING;
	conn_forget(&w->conn);
}

static void *worker_main(void *argument)
{
	struct worker *w = argument;

	wake_mark_read(w);
	ticks_look();
	clocks_calibrate(w);
	if (!w->has_conn && !greet(w)) {
		/* The harvest continues: a full recorder counts what it drops. */
		slog_tell("no memory to talk to the collector; nothing is recorded");
		conn_forget(&w->conn);
	}
	w->harvest_period_ns = HARVEST_NS;
	worker_loop(w);
	worker_finish(w);
	atomic_store_explicit(&w->is_done, true, memory_order_release);
	return NULL;
}

/* ---- start and stop ------------------------------------------------------------------------ */

/*
 * The thread inherits the CPU mask of the thread that initialised the runtime, so it is reset to
 * that of the process. No thread waits for the shim thread, so it must not run in a real-time
 * class, nor preempt a thread that has just been scheduled. In class BATCH, if no other processor
 * is free, it waits until that thread has used its slice, and still gets its fair share. A program
 * in class IDLE stays there.
 */
static void scheduling_reset(void)
{
	const struct sched_param none = {0};
	cpu_set_t all;

	if (!sched_getaffinity(getpid(), sizeof(all), &all))
		sched_setaffinity(0, sizeof(all), &all);
	if (sched_getscheduler(0) != SCHED_IDLE)
		sched_setscheduler(0, SCHED_BATCH, &none);
}

static void *worker_entry(void *argument)
{
	pthread_setname_np(pthread_self(), "rtl-shim");
	scheduling_reset();
	return worker_main(argument);
}

static int thread_start(struct worker *w)
{
	pthread_attr_t attributes;
	sigset_t all, saved;
	int r;

	r = pthread_attr_init(&attributes);
	if (r)
		return -r;
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	/*
	 * Blocked before the thread exists, so that no signal handler of the application ever runs
	 * on it.
	 */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &saved);
	r = pthread_create(&w->thread, &attributes, worker_entry, w);
	/* Libraries with much static TLS, which is on every stack, need a larger one. */
	if (r == EINVAL)
		r = pthread_create(&w->thread, NULL, worker_entry, w);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	pthread_attr_destroy(&attributes);
	return -r;
}

bool worker_is_lost(void)
{
	struct worker *w = &worker;
	uint64_t until_ns = clock_monotonic_ns() + w->setup.exit_ns;
	unsigned checks = 0;

	if (!w->is_lost)
		return false;
	while (!atomic_load_explicit(&w->is_done, memory_order_acquire)) {
		if (clock_monotonic_ns() >= until_ns)
			return true;
		wait_between_checks(&checks);
	}
	w->is_lost = false;
	return false;
}

void worker_release(void)
{
	struct worker *w = &worker;

	if (w->has_conn)
		conn_done(&w->conn);
	w->has_conn = false;
	free(w->hello);
	w->hello = NULL;
	/*
	 * A thread that is about to write to it would write to the next file with this number, so
	 * it stays open then.
	 */
	if (wake_is_ours(w) && !doze_is_waking())
		close(w->wake);
	w->wake = -1;
}

int worker_start(const struct worker_setup *setup)
{
	struct worker *w = &worker;
	int r;

	memset(w, 0, sizeof(*w));
	w->conn.fd = -1;
	w->setup = *setup;
	w->recorder = capture_recorder(setup->capture);
	w->anchors = (struct anchors){
		.capture = setup->capture, .agents = setup->agents, .clocks = setup->clocks};
	w->wake = -1;
	if (!setup->is_alone) {
		w->wake = fd_keep(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
		if (w->wake < 0)
			return -errno;
	}
	event_frames_reset();
	r = events_start(w->recorder);
	if (r)
		return r;
	/*
	 * Done here and not on the shim thread: a process that ends within its first milliseconds,
	 * by _exit() or a signal, or before the shim thread has run, is known to the collector all
	 * the same, and its kernels have times. Nothing here waits.
	 */
	anchors_first(&w->anchors);
	if (setup->is_alone) {
		greet_alone(w);
		w->is_running = true;
		return 0;
	}
	(void)greet(w);
	r = thread_start(w);
	w->is_running = !r;
	/* No thread would take events from there. */
	if (r)
		(void)events_stop(0);
	return r;
}

bool worker_has_greeted(void)
{
	return worker.has_conn;
}

/* Whether nothing is in flight, and a collector that listens has our Hello. */
static bool is_settled(struct worker *w)
{
	return atomic_load_explicit(&w->is_known, memory_order_acquire) &&
	       !atomic_load_explicit(&w->is_last_try, memory_order_acquire) &&
	       !capture_pending(w->setup.capture);
}

/* Makes the shim thread harvest without pause until the returned time. */
static uint64_t worker_hurry(struct worker *w, uint64_t now_ns, uint64_t patience_ns)
{
	uint64_t until_ns = now_ns + patience_ns;

	atomic_store_explicit(&w->decide_ns, until_ns - patience_ns / 8, memory_order_relaxed);
	atomic_store_explicit(&w->hurry_ns, until_ns, memory_order_release);
	return until_ns;
}

/* What comes later is still in the recorder's slots and rings. Returns the time. */
static uint64_t settle_alone(struct worker *w, uint64_t until_ns)
{
	uint64_t now_ns = worker_gather(w, until_ns);

	if (anchors_are_due(&w->anchors))
		anchors_take(&w->anchors, now_ns);
	if (!w->has_greeted)
		conn_last_words(&w->conn);
	return clock_boottime_ns();
}

/* worker_stop() may take what is left of exit_ns. */
static void spend(struct worker *w, uint64_t spent_ns, uint64_t patience_ns)
{
	w->setup.exit_ns -= spent_ns < patience_ns ? spent_ns : patience_ns;
}

void worker_settle(void)
{
	struct worker *w = &worker;
	uint64_t start_ns = clock_boottime_ns(), now_ns = start_ns;
	uint64_t patience_ns = w->setup.exit_ns / 5 * 4;
	uint64_t until_ns = start_ns + patience_ns;
	uint64_t latest_ns = start_ns + SETTLE_TIMES_MAX * patience_ns;
	uint64_t checks = 0, checks_least = patience_ns / FINISH_STEP_NS / 2;
	bool has_changes;

	if (!w->is_running)
		return;
	if (w->setup.is_alone) {
		now_ns = settle_alone(w, until_ns);
		spend(w, now_ns - start_ns, patience_ns);
		return;
	}
	has_changes = record_last_changes(w);
	if (capture_pending(w->setup.capture))
		until_ns = worker_hurry(w, start_ns, patience_ns);
	/* Only the shim thread knows whether its connection still works. */
	atomic_store_explicit(&w->is_last_try, true, memory_order_release);
	worker_wake(w);
	/* The shim thread may have no processor, so this thread harvests too. */
	while ((!has_changes || !is_settled(w)) && (now_ns < until_ns || checks < checks_least) &&
		now_ns < latest_ns) {
		uint64_t pending = capture_pending(w->setup.capture);

		nanosleep(&(struct timespec){.tv_nsec = FINISH_STEP_NS}, NULL);
		now_ns = clock_boottime_ns();
		has_changes = has_changes || record_last_changes(w);
		(void)harvest_flush(w->setup.capture, now_ns);
		checks = capture_pending(w->setup.capture) < pending ? 0 : checks + 1;
		if (pending && (!checks || now_ns >= until_ns))
			until_ns = worker_hurry(w, now_ns, checks ? FINISH_STEP_NS : patience_ns);
	}
	atomic_store_explicit(&w->hurry_ns, 0, memory_order_release);
	spend(w, now_ns - start_ns, patience_ns);
}

/* The shim thread hangs, perhaps in the runtime, or waits for a processor: it is detached. */
static bool worker_lose(struct worker *w)
{
	pthread_detach(w->thread);
	w->is_lost = true;
	return false;
}

bool worker_stop(bool is_quiet)
{
	struct worker *w = &worker;
	uint64_t until_ns = clock_monotonic_ns() + w->setup.exit_ns;
	bool has_changes = false;

	if (!w->is_running)
		return true;
	w->is_running = false;
	w->is_quiet = is_quiet;
	atomic_store_explicit(
		&w->stop_ns, clock_boottime_ns() + w->setup.exit_ns / 5 * 4, memory_order_release);
	if (w->setup.is_alone) {
		worker_finish(w);
		return true;
	}
	worker_wake(w);
	/*
	 * pthread_timedjoin_np() of glibc 2.28 uses CLOCK_REALTIME only, which may be set
	 * meanwhile.
	 */
	while (pthread_tryjoin_np(w->thread, NULL)) {
		has_changes = has_changes || record_last_changes(w);
		if (clock_monotonic_ns() >= until_ns)
			return worker_lose(w);
		nanosleep(&(struct timespec){.tv_nsec = FINISH_STEP_NS}, NULL);
	}
	return true;
}

void worker_stand_in(void)
{
	anchors_rate_alone(&worker.anchors);
}

void worker_forget(void)
{
	struct worker *w = &worker;

	w->is_running = false;
	w->is_lost = false;
	doze_forget();
	conn_forget(&w->conn);
	if (wake_is_ours(w))
		close(w->wake);
	w->wake = -1;
	if (w->setup.clocks)
		clock_source_close(w->setup.clocks);
}

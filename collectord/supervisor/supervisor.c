/* SPDX-License-Identifier: MIT */
#include "collectord/supervisor/supervisor.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collectord/service/config.h"
#include "collectord/service/listen.h"
#include "collectord/service/log.h"
#include "collectord/service/notify.h"
#include "collectord/supervisor/internal.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "proto/base/subordinate_uids.h"

#define POLLS_MAX (1 + ACCEPTORS_MAX + WORKERS_MAX)

/*
 * The name of a recorder, which only the collector writes, begins with the uid of its owner
 * (fd_store.h), or with the number of its container (listen.h). Returns NULL if it is none of ours.
 */
static struct worker *find_keeper_of(
	struct supervisor *s, const char *name, char ret[KEPT_OUTER_BYTES])
{
	uid_t tenant;
	unsigned uid;

	if (strlen(name) >= KEPT_OUTER_BYTES)
		return NULL;
	if (listen_kept_inner(name, &tenant, ret))
		return workers_find(s, tenant);
	strcpy(ret, name);
	return sscanf(name, KEPT_PREFIX "%u-", &uid) == 1
		       ? workers_find(s, subuids_owner(s->config->subuids, uid))
		       : NULL;
}

static void take_kept(struct supervisor *s)
{
	for (size_t i = 0; i < s->sockets->n_kept; i++) {
		struct listen_kept *kept = &s->sockets->kept[i];
		char name[KEPT_OUTER_BYTES];
		struct worker *worker = find_keeper_of(s, kept->name, name);

		if (!worker) {
			log_warning("a kept recorder is let go: its name is none of ours");
			(void)notify_drop(kept->name);
			continue;
		}
		keeper_keep(s, worker, TAKE_FD(kept->fd), name, true);
		worker->is_to_start = true;
	}
}

static int add_signals(struct supervisor *s)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	s->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signal_fd < 0 ? -errno : 0;
}

static void reap(struct supervisor *s)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (!workers_ended(s, pid, status) && !indexer_ended(s, pid, status))
			(void)acceptors_ended(s, pid);
}

static void stop(struct supervisor *s, int number)
{
	if (s->is_stopping)
		return;
	log_info("%s: committing what is here", strsignal(number));
	notify_stopping();
	s->is_stopping = true;
	s->stop_ns = clock_monotonic_ns() + STOP_NS;
	acceptors_stop(s);
	workers_stop(s);
}

static void reload(struct supervisor *s)
{
	if (s->is_stopping)
		return;
	if (!s->reloaded)
		s->reloaded = malloc(sizeof(*s->reloaded));
	if (!s->reloaded || config_reload(s->config, s->reloaded) < 0) {
		log_error("not reloaded: quotas and retention stay as they are");
		return;
	}
	s->config = s->reloaded;
	workers_reload(s);
	log_info("reloaded: quotas and retention are those of rtl.conf as it is now");
}

static void take_signals(struct supervisor *s)
{
	struct signalfd_siginfo info;

	while (read(s->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			reap(s);
		else if (info.ssi_signo == SIGHUP)
			reload(s);
		else
			stop(s, (int)info.ssi_signo);
	}
}

static bool is_closing(const struct supervisor *s)
{
	for (const struct acceptor *a = s->acceptors; a < s->acceptors + ACCEPTORS_MAX; a++)
		if (a->closing_ns)
			return true;
	return false;
}

static int watchdog_ms(const struct supervisor *s, int tick_ms)
{
	int ms = (int)(s->watchdog_ns / 1000000ull);

	return ms && (tick_ms < 0 || ms < tick_ms) ? ms : tick_ms;
}

/*
 * Returns the milliseconds until the next check, or -1 for none, so that a node without work costs
 * nothing.
 */
static int next_tick_ms(const struct supervisor *s)
{
	bool has_waiting = s->acceptor_retry_ns != 0, is_unlisted = !s->indexer.pid;

	for (const struct worker *w = s->workers; w; w = w->next) {
		has_waiting |= w->is_to_start && s->n_workers < WORKERS_MAX;
		is_unlisted |= w->is_unlisted;
	}
	if (s->is_stopping || s->has_unsaid || has_waiting || is_closing(s))
		return BUSY_TICK_MS;
	if (s->n_workers || is_unlisted)
		return watchdog_ms(s, TICK_MS);
	return watchdog_ms(s, workers_age(s) ? (int)(AGES_NS / 1000000ull) : -1);
}

static void tick(struct supervisor *s)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (s->watchdog_ns && now_ns - s->fed_ns >= s->watchdog_ns) {
		s->fed_ns = now_ns;
		notify_alive();
	}
	keeper_retry(s);
	indexer_retry(s);
	if (s->is_stopping) {
		if (now_ns >= s->stop_ns)
			workers_give_up(s);
		if (!workers_are_open(s))
			indexer_stop(s);
		return;
	}
	indexer_start(s);
	acceptors_watch(s, now_ns);
	workers_watch(s, now_ns);
}

static void wait_for_news(struct supervisor *s)
{
	static struct pollfd polls[POLLS_MAX];
	static struct worker *workers[POLLS_MAX];
	static struct acceptor *acceptors[POLLS_MAX];
	size_t n = 1;

	polls[0] = (struct pollfd){.fd = s->signal_fd, .events = POLLIN};
	for (struct acceptor *a = s->acceptors; a < s->acceptors + ACCEPTORS_MAX; a++) {
		if (!a->pid || a->channel < 0)
			continue;
		workers[n] = NULL;
		acceptors[n] = a;
		polls[n++] = (struct pollfd){.fd = a->channel, .events = POLLIN};
	}
	for (struct worker *w = s->workers; w && n < POLLS_MAX; w = w->next) {
		if (w->channel < 0)
			continue;
		workers[n] = w;
		polls[n++] = (struct pollfd){.fd = w->channel, .events = POLLIN};
	}
	if (poll(polls, n, next_tick_ms(s)) < 0 && errno != EINTR)
		log_error("poll: %s", strerror(errno));
	for (size_t i = 1; i < n; i++) {
		if (!polls[i].revents)
			continue;
		if (workers[i])
			workers_hear(s, workers[i]);
		else if (acceptors[i]->channel == polls[i].fd)
			acceptors_hear(s, acceptors[i]);
	}
	if (polls[0].revents)
		take_signals(s);
}

static void say_ready(const struct supervisor *s)
{
	char status[1024];

	snprintf(status, sizeof(status), "listening on %s, storing in %s", s->sockets->path,
		s->config->store_path);
	log_info("%s", status);
	notify_ready(status);
}

static bool has_ended(const struct supervisor *s)
{
	return s->is_stopping && ((!workers_are_open(s) && !s->indexer.pid) ||
					 clock_monotonic_ns() >= s->stop_ns + STOP_INDEX_NS);
}

int supervisor_run(const struct config *config, struct listen_sockets *sockets, int reserve,
	supervisor_work work)
{
	struct supervisor s = {.config = config,
		.sockets = sockets,
		.work = work,
		.reserve = reserve,
		.since_realtime_ns = clock_realtime_ns(),
		.aged_ns = clock_monotonic_ns(), /* workers_find_left() starts them all */
		.signal_fd = -1,
		.indexer = {.channel = -1},
		.watchdog_ns = notify_watchdog_us() * 1000 / 3,
		.ledger = ledger_new()};
	int r = s.ledger ? add_signals(&s) : -ENOMEM;

	for (struct acceptor *a = s.acceptors; a < s.acceptors + ACCEPTORS_MAX; a++)
		a->channel = -1;
	if (r == 0)
		r = workers_find_left(&s);
	if (r < 0) {
		log_error("cannot start: %s", strerror(-r));
		s.exit_code = EXIT_FAILURE;
	} else {
		take_kept(&s);
		indexer_start(&s);
		workers_start(&s);
		acceptors_start(&s);
		say_ready(&s);
	}
	while (r == 0 && !has_ended(&s)) {
		wait_for_news(&s);
		tick(&s);
	}
	indexer_kill(&s);
	keeper_retry(&s);
	workers_done(&s);
	for (struct acceptor *a = s.acceptors; a < s.acceptors + ACCEPTORS_MAX; a++)
		close_p(&a->channel);
	close_p(&s.signal_fd);
	free(s.reloaded);
	ledger_free(s.ledger);
	log_done();
	return s.exit_code;
}

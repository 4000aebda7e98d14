/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collectord/service/config.h"
#include "collectord/service/container.h"
#include "collectord/service/limit_options.h"
#include "collectord/service/listen.h"
#include "collectord/service/log.h"
#include "collectord/service/notify.h"
#include "collectord/supervisor/internal.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "proto/base/subordinate_uids.h"

static bool is_running(const struct worker *worker)
{
	return worker->state != WORKER_NONE && worker->state != WORKER_STUCK;
}

/* What a line calls the tenant, valid until the next call. */
static const char *words(const struct worker *worker)
{
	static char text[CONTAINER_WORDS_BYTES];

	return container_words(worker->owner, worker->container, text);
}

static int tell(const struct worker *worker, enum channel_kind kind, uint64_t number, int fd)
{
	const struct channel_message message = {
		.kind = kind, .owner = worker->owner, .number = number};

	return worker->channel < 0 ? -EPIPE : channel_send(worker->channel, &message, fd);
}

/* True if nothing is left of the tenant, as of a pod whose sessions were removed. */
static bool is_vacant(const struct worker *worker)
{
	return worker->state == WORKER_NONE && worker->door < 0 && !worker->kept &&
	       !worker->round && !worker->is_wanted && !worker->is_to_start &&
	       !worker->is_unlisted && !atomic_load(&worker->page->closed);
}

/* Forgets a vacant tenant. Returns its page, which is @owner's now; NULL: there is none. */
static struct ledger_tenant *take_page(struct supervisor *s, uid_t owner)
{
	struct worker **at = &s->workers, *vacant;
	struct ledger_tenant *page;

	while (*at && !is_vacant(*at))
		at = &(*at)->next;
	vacant = *at;
	if (!vacant)
		return NULL;
	*at = vacant->next;
	page = vacant->page;
	free(vacant);
	ledger_give(page, owner);
	return page;
}

struct worker *workers_find(struct supervisor *s, uid_t owner)
{
	struct worker *worker = s->workers;

	while (worker && worker->owner != owner)
		worker = worker->next;
	if (worker)
		return worker;
	worker = calloc(1, sizeof(*worker));
	if (!worker)
		return NULL;
	*worker = (struct worker){.owner = owner,
		.channel = -1,
		.door = -1,
		.door_exit = -1,
		.page = ledger_find(s->ledger, owner),
		.backoff_ns = RETRY_NS_MIN};
	if (!worker->page)
		worker->page = take_page(s, owner);
	if (!worker->page) {
		free(worker);
		return NULL;
	}
	worker->next = s->workers;
	s->workers = worker;
	return worker;
}

/* Returns false if the name of the file is not @prefix and the number of a tenant. */
static bool parse_name(const char *name, const char *prefix, uid_t *ret)
{
	size_t bytes = strlen(prefix);
	unsigned long number;
	char *end;

	if (strncmp(name, prefix, bytes) != 0 || name[bytes] < '0' || name[bytes] > '9')
		return false;
	number = strtoul(name + bytes, &end, 10);
	*ret = (uid_t)number;
	return !*end && number < UINT32_MAX;
}

int workers_find_left(struct supervisor *s)
{
	DIR *store = opendir(s->config->store_path);
	const struct dirent *entry;

	if (!store)
		return -errno;
	while ((entry = readdir(store))) {
		struct worker *worker = NULL;
		uid_t uid;

		if (parse_name(entry->d_name, "", &uid))
			worker = workers_find(s, container_is_tenant(uid)
							 ? uid
							 : subuids_owner(s->config->subuids, uid));
		else if (parse_name(entry->d_name, ".index-", &uid) && container_is_tenant(uid))
			/* Nothing is stored: the index writer is told of it, and removes it. */
			(void)workers_find(s, uid);
		if (worker)
			worker->is_to_start = true;
	}
	closedir(store);
	return 0;
}

/* ---- start ----------------------------------------------------------------------------------- */

/* Lists the recorders kept for the worker: their descriptors stay open in it, under their names. */
static size_t list_kept(
	const struct worker *worker, struct listen_sockets *sockets, int *keep, size_t n)
{
	sockets->kept = calloc(worker->n_kept + 1, sizeof(*sockets->kept));
	for (const struct kept *k = sockets->kept ? worker->kept : NULL; k; k = k->next) {
		if (k->fd < 0)
			continue;
		keep[n++] = k->fd;
		sockets->kept[sockets->n_kept].fd = k->fd;
		sockets->kept[sockets->n_kept++].name = strdup(k->name);
	}
	return n;
}

_Noreturn static void work(
	struct supervisor *s, struct worker *worker, struct listen_sockets *sockets, int channel)
{
	const struct seat seat = {.owner = worker->owner,
		.channel = channel,
		.door = worker->door_exit,
		.since_realtime_ns = s->since_realtime_ns,
		.was_refused = worker->was_refused,
		.reserve = s->reserve,
		.supervisor = getppid(),
		.ledger = s->ledger,
		.page = worker->page};
	int status;

	process_expose();
	notify_to(channel);
	status = s->work(s->config, sockets, &seat);
	fflush(stderr);
	_exit(status);
}

static int make_door(struct worker *worker)
{
	int pair[2], r;

	if (worker->door >= 0)
		return 0;
	r = channel_door(pair);
	if (r < 0)
		return r;
	worker->door = pair[0];
	worker->door_exit = pair[1];
	return 0;
}

/* True if connections lie in the door. */
static bool has_arrivals(const struct worker *worker)
{
	struct pollfd exit = {.fd = worker->door_exit, .events = POLLIN};

	return worker->door_exit >= 0 && poll(&exit, 1, 0) == 1;
}

/*
 * Called when no acceptor has the door. It stays open for the next worker if connections lie in it:
 * closing the last descriptor of a connection could block.
 */
static void close_door(struct worker *worker)
{
	if (has_arrivals(worker)) {
		worker->is_to_start = true;
		return;
	}
	close_p(&worker->door);
	close_p(&worker->door_exit);
	worker->door = worker->door_exit = -1;
}

static int start(struct supervisor *s, struct worker *worker)
{
	static int keep[KEPT_TENANT_MAX + 3];
	struct listen_sockets sockets = {.lock.fd = -1, .is_passed = s->sockets->is_passed};
	int channel[2], r = make_door(worker);
	size_t n = 2;

	if (r == 0)
		r = channel_pair(channel);
	if (r < 0)
		return r;
	/* This flag tells the worker that connections may have been lost before it started. */
	sockets.places[0].is_missing = worker->was_refused || s->sockets->places[0].is_missing;
	keep[0] = channel[1];
	keep[1] = worker->door_exit;
	if (s->reserve >= 0)
		keep[n++] = s->reserve;
	n = list_kept(worker, &sockets, keep, n);
	atomic_store(&worker->page->beat_ns, clock_monotonic_ns());
	r = process_fork(keep, n, false);
	if (r == 0)
		work(s, worker, &sockets, channel[1]);
	for (size_t i = 0; i < sockets.n_kept; i++)
		free(sockets.kept[i].name);
	free(sockets.kept);
	close(channel[1]);
	if (r < 0) {
		close(channel[0]);
		return r;
	}
	worker->pid = r;
	worker->channel = channel[0];
	worker->state = WORKER_STARTING;
	worker->is_to_start = false;
	worker->started_ns = clock_monotonic_ns();
	worker->was_refused = false;
	s->n_workers++;
	return 0;
}

/*
 * Refuses the tenant: its acceptors close the waiting connections, and the shims among them try
 * again.
 */
static void refuse(struct supervisor *s, struct worker *worker, const char *why)
{
	const struct channel_message message = {.kind = CHANNEL_NO_DOOR, .owner = worker->owner};

	if (!worker->has_been_told)
		log_warning("%s is not served now: %s", words(worker), why);
	worker->has_been_told = worker->was_refused = true;
	worker->is_wanted = false;
	(void)acceptors_tell(s, &message, -1);
}

static void give_door(struct supervisor *s, struct worker *worker)
{
	const struct channel_message message = {.kind = CHANNEL_DOOR, .owner = worker->owner};

	if (!worker->is_wanted || worker->door < 0 ||
		(worker->state != WORKER_STARTING && worker->state != WORKER_READY))
		return; /* when it has ended, a new worker is started */
	worker->is_wanted = false;
	worker->has_been_told = false;
	(void)acceptors_tell(s, &message, worker->door);
}

static void ask_acceptors(struct supervisor *s, struct worker *worker, enum channel_kind kind)
{
	const struct channel_message message = {
		.kind = kind, .owner = worker->owner, .number = ++s->round};

	worker->round = s->round;
	worker->waits = acceptors_tell(s, &message, -1);
}

static bool is_idle(const struct worker *worker)
{
	return worker->state == WORKER_READY && !worker->is_wanted && !worker->is_settling &&
	       !atomic_load(&worker->page->sessions) && !atomic_load(&worker->page->connections);
}

/*
 * Ends the oldest idle worker, as if it had asked to go; it stays if it has become busy. Returns
 * false if there is none.
 */
static bool make_room(struct supervisor *s)
{
	struct worker *oldest = NULL;

	for (struct worker *w = s->workers; w; w = w->next) {
		if (w->state == WORKER_LEAVING || w->state == WORKER_GOING)
			return true;
		if (is_idle(w) && (!oldest || w->started_ns < oldest->started_ns))
			oldest = w;
	}
	if (!oldest)
		return false;
	oldest->state = WORKER_LEAVING;
	ask_acceptors(s, oldest, CHANNEL_FORGET);
	return true;
}

static void start_one(struct supervisor *s, struct worker *worker)
{
	int r;

	if (worker->state != WORKER_NONE || s->is_stopping)
		return;
	if (s->n_workers >= WORKERS_MAX) {
		if (!make_room(s) && worker->is_wanted)
			refuse(s, worker, "too many users at once");
		return; /* it is started when there is room, because it stays wanted or marked
			 * for a start */
	}
	if (clock_monotonic_ns() < worker->retry_ns) {
		worker->is_to_start = true;
		if (worker->is_wanted && worker->backoff_ns > REFUSE_NS)
			refuse(s, worker, "its worker ends again and again");
		return;
	}
	r = start(s, worker);
	if (r == 0) {
		give_door(s, worker);
		return;
	}
	worker->retry_ns = clock_monotonic_ns() + RETRY_NS_MIN;
	refuse(s, worker, strerror(-r));
}

void workers_start(struct supervisor *s)
{
	unsigned early = 0;

	for (struct worker *w = s->workers; w; w = w->next) {
		if (w->is_wanted)
			start_one(s, w);
		early += w->state == WORKER_STARTING;
	}
	for (struct worker *w = s->workers; w && early < WORKERS_EARLY; w = w->next) {
		if (!w->is_to_start || w->state != WORKER_NONE)
			continue;
		start_one(s, w);
		early += w->state == WORKER_STARTING;
	}
}

/* ---- messages of acceptors --------------------------------------------------------------- */

void workers_want_door(
	struct supervisor *s, struct acceptor *acceptor, const struct channel_message *message)
{
	struct worker *worker = workers_find(s, message->owner);
	const struct channel_message no_door = {.kind = CHANNEL_NO_DOOR, .owner = message->owner};
	char text[CONTAINER_WORDS_BYTES];

	if (!worker) {
		log_peer("%s is not served: too many users",
			container_words(message->owner, message->name, text));
		(void)channel_send(acceptor->channel, &no_door, -1);
		return;
	}
	if (!worker->container[0])
		strcpy(worker->container, message->name);
	worker->is_wanted = true;
	if (worker->state == WORKER_STUCK)
		refuse(s, worker, "its worker does not end");
	else if (worker->state == WORKER_LEAVING)
		worker->state = WORKER_READY; /* it was not told to go yet */
	if (worker->state == WORKER_NONE)
		start_one(s, worker);
	else
		give_door(s, worker); /* a worker that was told to go stays, or ends and is
				       * replaced */
}

/* A name in the message means that the sockets of the service cannot be reached any more. */
static int say_settled(const struct supervisor *s, const struct worker *worker)
{
	struct channel_message message = {.kind = CHANNEL_SETTLED, .number = worker->settle_number};

	if (!listen_is_reachable(s->sockets))
		strcpy(message.name, "unreachable");
	return channel_send(worker->channel, &message, -1);
}

/* A worker whose channel is full is told later. */
static void check_round(struct supervisor *s, struct worker *worker)
{
	if (worker->waits || !worker->round || !acceptors_are_there(s))
		return;
	if (worker->is_settling && say_settled(s, worker) < 0)
		return;
	worker->is_settling = false;
	if (worker->state == WORKER_LEAVING) {
		if (tell(worker, CHANNEL_GO, 0, -1) < 0)
			return;
		worker->state = WORKER_GOING;
	} else if (worker->state == WORKER_NONE) {
		close_door(worker);
	}
	worker->round = 0;
}

void workers_accepted(struct supervisor *s, unsigned index, const struct channel_message *message)
{
	struct worker *worker = workers_find(s, message->owner);

	if (!worker || worker->round != message->number)
		return;
	worker->waits &= ~(UINT64_C(1) << index);
	check_round(s, worker);
}

void workers_tell_newcomer(struct supervisor *s, struct acceptor *acceptor)
{
	const uint64_t bit = UINT64_C(1) << (acceptor - s->acceptors);

	for (struct worker *w = s->workers; w; w = w->next) {
		const struct channel_message message = {
			.kind = CHANNEL_ACCEPT, .owner = w->owner, .number = w->round};

		if (w->round && channel_send(acceptor->channel, &message, -1) == 0)
			w->waits |= bit;
	}
}

void workers_forget_acceptor(struct supervisor *s, unsigned index)
{
	for (struct worker *w = s->workers; w; w = w->next) {
		w->waits &= ~(UINT64_C(1) << index);
		check_round(s, w);
	}
}

/* ---- messages of workers ----------------------------------------------------------------- */

/*
 * Connects the worker of a tool that may see all with every running worker. A worker that has ended
 * has no open sessions; the index of the node lists the closed ones.
 */
static void introduce(struct supervisor *s, struct worker *asker, uint64_t number)
{
	struct channel_message end = {.kind = CHANNEL_ANSWERERS_END, .number = number};
	int pair[2];

	for (struct worker *w = s->workers; w; w = w->next) {
		struct channel_message message = {
			.kind = CHANNEL_ANSWERER, .owner = w->owner, .number = number};

		strcpy(message.name, w->container);
		if (!is_running(w) || w->state == WORKER_GOING)
			continue;
		end.owner++;
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
			continue;
		/*
		 * If a worker cannot be told, it counts as one that did not answer: its end is
		 * closed here.
		 */
		(void)tell(w, CHANNEL_QUESTION, 0, pair[0]);
		(void)channel_send(asker->channel, &message, pair[1]);
		close(pair[0]);
		close(pair[1]);
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0) {
		if (indexer_ask(s, pair[0]) == 0)
			(void)tell(asker, CHANNEL_NODE_ANSWERER, number, pair[1]);
		close(pair[0]);
		close(pair[1]);
	}
	(void)channel_send(asker->channel, &end, -1);
}

static void give_back(struct supervisor *s, uid_t owner, uint64_t is_room)
{
	struct worker *worker = workers_find(s, owner);

	if (!worker)
		return;
	if (worker->state == WORKER_NONE)
		start_one(s, worker);
	if (is_running(worker))
		(void)tell(worker, CHANNEL_GIVE_BACK, is_room, -1);
}

/*
 * When all workers have reported their sizes, tells them to check whether all tenants together
 * exceed a limit, which could not be seen before.
 */
static void weigh(struct supervisor *s)
{
	for (const struct worker *w = s->workers; w; w = w->next)
		if (w->is_to_start || w->state == WORKER_STARTING)
			return;
	for (const struct worker *w = s->workers; w; w = w->next)
		if (w->state == WORKER_READY)
			(void)tell(w, CHANNEL_GIVE_BACK, 0, -1);
}

static void take_message(
	struct supervisor *s, struct worker *worker, const struct channel_message *message, int *fd)
{
	switch (message->kind) {
	case CHANNEL_READY:
		if (message->name[0])
			strcpy(worker->container, message->name);
		if (worker->state == WORKER_STARTING)
			worker->state = WORKER_READY;
		workers_start(s);
		weigh(s);
		break;
	case CHANNEL_KEEP:
		keeper_keep(s, worker, TAKE_FD(*fd), message->name, false);
		break;
	case CHANNEL_DROP:
		keeper_drop(s, worker, message->name);
		break;
	case CHANNEL_SETTLE:
		worker->is_settling = true;
		worker->settle_number = message->number;
		ask_acceptors(s, worker, CHANNEL_ACCEPT);
		break;
	case CHANNEL_ASK_ALL:
		introduce(s, worker, message->number);
		break;
	case CHANNEL_GIVE_BACK:
		give_back(s, message->owner, message->number);
		break;
	case CHANNEL_MAY_GO:
		if (worker->state != WORKER_READY || worker->is_wanted)
			break;
		worker->state = WORKER_LEAVING;
		ask_acceptors(s, worker, CHANNEL_FORGET);
		break;
	case CHANNEL_INDEXED:
		indexer_tell(s, worker, message->name);
		break;
	case CHANNEL_STAY:
		if (worker->state == WORKER_GOING)
			worker->state = WORKER_READY;
		give_door(s, worker);
		break;
	default:
		break;
	}
}

/* Closes the channel of the worker, which commits its open sessions before it ends. */
static void shut(struct worker *worker)
{
	close_fd(&worker->channel);
	worker->is_settling = false;
	worker->round = worker->waits = 0;
}

/* Returns false if there is no message now. */
static bool hear_one(struct supervisor *s, struct worker *worker)
{
	struct channel_message message;
	int fd = -1, r;

	if (worker->channel < 0)
		return false;
	r = channel_receive(worker->channel, &message, &fd);
	if (r == 0)
		shut(worker);
	else if (r > 0)
		take_message(s, worker, &message, &fd);
	close_p(&fd);
	return r != -EAGAIN;
}

void workers_hear(struct supervisor *s, struct worker *worker)
{
	for (unsigned i = 0; i < MESSAGES_AT_ONCE && hear_one(s, worker); i++)
		;
}

/* Reads the messages that it sent before its end. */
static void hear_out(struct supervisor *s, struct worker *worker)
{
	while (hear_one(s, worker))
		;
}

/* ---- the end of a worker ----------------------------------------------------------------- */

static void say_end(const struct worker *worker, int status)
{
	if (worker->state == WORKER_STUCK)
		log_info("%s: its worker, which was given up, has ended", words(worker));
	else if (WIFSIGNALED(status))
		log_warning("%s: its worker was killed by signal %d: %s", words(worker),
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		log_warning("%s: its worker ended with %d", words(worker), WEXITSTATUS(status));
}

bool workers_ended(struct supervisor *s, pid_t pid, int status)
{
	struct worker *worker = s->workers;
	uint64_t now_ns = clock_monotonic_ns();
	bool had_open, is_forgotten;

	while (worker && worker->pid != pid)
		worker = worker->next;
	if (!worker)
		return false;
	hear_out(s, worker);
	shut(worker);
	indexer_tell(s, worker, ""); /* it may not have reported its last changes */
	had_open = worker->n_kept || atomic_load(&worker->page->sessions);
	is_forgotten = worker->state == WORKER_GOING;
	if (status) {
		if (now_ns - worker->started_ns > RETRY_NS_MAX)
			worker->backoff_ns = RETRY_NS_MIN;
		worker->retry_ns = now_ns + worker->backoff_ns;
		if (worker->backoff_ns < RETRY_NS_MAX)
			worker->backoff_ns *= 2;
		/* A tenant whose worker hangs cannot make the service fail. */
		if (s->is_stopping && worker->state != WORKER_STUCK)
			s->exit_code = EXIT_FAILURE;
	}
	say_end(worker, status);
	ledger_clear_live(worker->page);
	worker->pid = 0;
	worker->state = WORKER_NONE;
	s->n_workers--;
	worker->is_to_start = (status && had_open) || has_arrivals(worker);
	if (is_forgotten)
		close_door(worker);
	else if (!worker->is_to_start && !s->is_stopping)
		ask_acceptors(s, worker, CHANNEL_FORGET); /* check_round() closes the door */
	workers_start(s);
	return true;
}

static void give_up(struct supervisor *s, struct worker *worker)
{
	(void)kill(worker->pid, SIGKILL);
	workers_hear(s, worker); /* reads which recorders it has passed so far */
	shut(worker);
	worker->state = WORKER_STUCK;
	if (worker->is_wanted)
		refuse(s, worker, "its worker does not end");
}

/* A worker whose channel is full is told later. */
static void check_stale(struct worker *worker)
{
	if (worker->is_stale && is_running(worker) && tell(worker, CHANNEL_RELOAD, 0, -1) == 0)
		worker->is_stale = false;
}

void workers_reload(struct supervisor *s)
{
	for (struct worker *w = s->workers; w; w = w->next) {
		w->is_stale = is_running(w);
		check_stale(w);
	}
}

bool workers_age(const struct supervisor *s)
{
	return s->config->limits.keep_s && s->config->limits.keep_s != LIMIT_UNSET;
}

static void start_for_old(struct supervisor *s, uint64_t now_ns)
{
	if (!workers_age(s) || now_ns - s->aged_ns < AGES_NS)
		return;
	s->aged_ns = now_ns;
	for (struct worker *w = s->workers; w; w = w->next)
		w->is_to_start |= w->state == WORKER_NONE && atomic_load(&w->page->closed);
}

void workers_watch(struct supervisor *s, uint64_t now_ns)
{
	/*
	 * If the checks were late, the machine or the service stood still, and no worker could make
	 * progress.
	 */
	if (now_ns - s->watched_ns > GIVE_UP_NS / 2)
		s->awake_ns = now_ns;
	s->watched_ns = now_ns;
	for (struct worker *w = s->workers; w; w = w->next) {
		uint64_t beat_ns = atomic_load(&w->page->beat_ns);

		check_round(s, w);
		check_stale(w);
		if (beat_ns < s->awake_ns)
			beat_ns = s->awake_ns;
		if (!is_running(w) || now_ns <= beat_ns || now_ns - beat_ns <= GIVE_UP_NS)
			continue;
		log_error("%s: its worker does not answer: it is given up", words(w));
		give_up(s, w);
	}
	start_for_old(s, now_ns);
	workers_start(s);
}

void workers_stop(struct supervisor *s)
{
	for (struct worker *w = s->workers; w; w = w->next)
		if (is_running(w))
			(void)tell(w, CHANNEL_STOP, 0, -1);
}

bool workers_are_open(const struct supervisor *s)
{
	for (const struct worker *w = s->workers; w; w = w->next)
		if (is_running(w))
			return true;
	return false;
}

void workers_give_up(struct supervisor *s)
{
	for (struct worker *w = s->workers; w; w = w->next) {
		if (!is_running(w))
			continue;
		log_error("%s: its worker does not end and is given up: what it had not "
			  "committed lies in the recorders",
			words(w));
		give_up(s, w);
	}
}

void workers_done(struct supervisor *s)
{
	while (s->workers) {
		struct worker *next = s->workers->next;

		shut(s->workers);
		keeper_free(s, s->workers);
		free(s->workers);
		s->workers = next;
	}
}

/* SPDX-License-Identifier: MIT */
#include "collectord/loop/shutdown.h"

#include <errno.h>
#include <event2/buffer.h>
#include <signal.h>
#include <string.h>

#include "collectord/service/config.h"
#include "collectord/loop/sessions/instance.h"
#include "collectord/service/log.h"
#include "collectord/service/notify.h"
#include "collectord/loop/connections/peer.h"
#include "collectord/loop/reload.h"
#include "collectord/loop/sessions/runner.h"
#include "collectord/loop/server.h"
#include "collectord/loop/sessions/session.h"
#include "collectord/store/store.h"
#include "collectord/loop/connections/timers.h"

/* Limit for the last commit when the collector ends and the disk does not answer. */
#define STOP_MS_MAX	  10000u
/* Limit for writing the queued output of all peers. */
#define STOP_WRITE_MS_MAX 1000u
/* Time that a private collector, when told to end, leaves the job to end as well. */
#define PRIVATE_STOP_MS	  3000u

void stop_check(struct server *server)
{
	if (!server->is_flushed)
		return;
	for (const struct peer *p = server->peers; p; p = p->next)
		if (evbuffer_get_length(p->output))
			return;
	event_base_loopbreak(server->base);
}

static void on_flushed(struct flush_ticket *ticket, int error)
{
	struct server *server = ticket->data;

	/*
	 * A lack of memory passes, unlike a full disk, so the flush is retried until the deadline.
	 */
	if (error == -ENOMEM) {
		timer_start(server->stop_flush, MEMORY_TRY_MS);
		return;
	}
	server->is_flushed = true;
	if (error < 0) {
		log_error("not everything is committed: %s", strerror(-error));
		server->exit_code = 1;
	}
	timer_start(server->stop_deadline, STOP_WRITE_MS_MAX);
	stop_check(server);
}

/* Asks the store to commit everything queued before. */
static void flush(evutil_socket_t fd, short what, void *data)
{
	struct server *server = data;

	(void)fd;
	(void)what;
	server->stop_ticket = (struct flush_ticket){.done = on_flushed, .data = server};
	if (store_flush(server->store, STORE_EVERYBODY, &server->stop_ticket) < 0)
		on_flushed(&server->stop_ticket, -ENOMEM);
}

static void on_deadline(evutil_socket_t fd, short what, void *data)
{
	struct server *server = data;

	(void)fd;
	(void)what;
	if (!server->is_stopping) {
		session_close_now(server->private_session);
		return;
	}
	if (!server->is_flushed) {
		log_error("the store did not commit within %u ms", STOP_MS_MAX);
		server->exit_code = 1;
	}
	event_base_loopbreak(server->base);
}

/*
 * Drains the processes that have ended together with the collector: no other process has their
 * recorders.
 */
static void drain_the_dead(struct server *server)
{
	for (struct session *s = server->sessions; s; s = s->next)
		for (struct instance *i = s->instances; i; i = i->next)
			instance_end_dead(i);
}

void server_stop(struct server *server, int exit_code)
{
	if (server->is_stopping)
		return;
	server->is_stopping = true;
	server->exit_code = exit_code;
	if (!server->config->private_session) /* main.c notifies systemd in the same case only */
		notify_stopping();
	for (size_t i = 0; i < server->n_listeners; i++)
		event_del(server->listeners[i]);
	event_del(server->throttle);
	for (struct peer *p = server->peers; p; p = p->next)
		peer_pause(p);
	drain_the_dead(server);
	timer_start(server->stop_deadline, STOP_MS_MAX);
	flush(-1, 0, server);
}

/* The job was told to end, too: waits for it, so that its last kernels are stored. */
static void stop_private(struct server *server)
{
	struct session *session = server->private_session;

	for (struct runner *r = session->runners; r; r = r->next)
		r->is_done = true;
	session->had_runner = true;
	timer_start(server->stop_deadline, PRIVATE_STOP_MS);
	session_check(session);
}

void stop_on_signal(struct server *server, int number)
{
	/* What comes from the terminal is meant for the job; its collector ends after it. */
	if (server->private_session && (number == SIGHUP || number == SIGINT)) {
		log_debug("%s ignored", strsignal(number));
		return;
	}
	if (server->is_stopping)
		return;
	if (number == SIGHUP) {
		server_reload(server);
		return;
	}
	log_info("%s: committing what is here", strsignal(number));
	if (server->private_session)
		stop_private(server);
	else
		server_stop(server, 0);
}

/*
 * The collector is alive if the loop turns and the store makes progress: the store answers, or it
 * works on earlier commands.
 */
static void on_watchdog_answer(struct flush_ticket *ticket, int error)
{
	struct server *server = ticket->data;

	(void)error;
	server->is_watchdog_asked = false;
	notify_alive();
}

static void on_watchdog(evutil_socket_t fd, short what, void *data)
{
	struct server *server = data;

	(void)fd;
	(void)what;
	if (server->is_watchdog_asked) {
		if (store_beats(server->store) != server->watchdog_beats)
			notify_alive();
		server->watchdog_beats = store_beats(server->store);
		return;
	}
	server->watchdog_beats = store_beats(server->store);
	server->is_watchdog_asked =
		store_flush(server->store, STORE_EVERYBODY, &server->watchdog_ticket) == 0;
}

int stop_init(struct server *server)
{
	uint64_t us = notify_watchdog_us() / 3;
	struct timeval interval = {.tv_sec = (time_t)(us / 1000000), .tv_usec = us % 1000000};

	server->stop_deadline = evtimer_new(server->base, on_deadline, server);
	server->stop_flush = evtimer_new(server->base, flush, server);
	if (!server->stop_deadline || !server->stop_flush)
		return -ENOMEM;
	if (!us)
		return 0;
	server->watchdog_ticket = (struct flush_ticket){.done = on_watchdog_answer, .data = server};
	server->watchdog = event_new(server->base, -1, EV_PERSIST, on_watchdog, server);
	return server->watchdog && event_add(server->watchdog, &interval) == 0 ? 0 : -ENOMEM;
}

void stop_done(struct server *server)
{
	event_done(server->stop_deadline);
	event_done(server->stop_flush);
	event_done(server->watchdog);
}

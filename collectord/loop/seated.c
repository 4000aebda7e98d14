/* SPDX-License-Identifier: MIT */
#include "collectord/loop/seated.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectord/channel/seat.h"
#include "collectord/loop/tools/all_tenants.h"
#include "collectord/loop/connections/worker.h"
#include "collectord/loop/reload.h"
#include "collectord/loop/server.h"
#include "collectord/loop/sessions/session.h"
#include "collectord/service/config.h"
#include "collectord/service/container.h"
#include "collectord/service/log.h"
#include "collectord/store/store.h"
#include "collectord/loop/connections/timers.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"

#define BEAT_MS	      2000u
/* A worker asks to end after so many beats without connections and open sessions. */
#define IDLE_BEATS    30u
/*
 * Beats after which the store is sent a flush to see that it makes progress, and beats that it may
 * be silent. The latter is long, so that a hanging disk of the whole node does not end every
 * worker.
 */
#define STORE_BEATS   5u
#define STORE_SILENCE 15u
/* A worker without a supervisor ends after this time. */
#define ORPHAN_S      5u
/* Connections of other workers that wait until recovery is done. */
#define QUESTIONS_MAX 64u

struct seated {
	struct event *channel;
	struct event *beat;
	uint64_t asked; /* number of the last CHANNEL_SETTLE sent */
	uint64_t settled;
	uint64_t wanted;
	unsigned idle_beats;
	enum channel_kind unsaid; /* to be sent again, because the channel was full; 0: none */
	struct flush_ticket store_ticket;
	bool is_store_asked;
	uint64_t store_beats;
	unsigned beats; /* since the store was asked or made progress */
	int questions[QUESTIONS_MAX];
	unsigned n_questions;
};

/* Lines of this process say from now on which container it serves. */
static void name_tenant(struct server *server, const char *name)
{
	char words[CONTAINER_WORDS_BYTES];

	strcpy(server->container, name);
	log_tenant(container_words(server->seat->owner, name, words));
}

/*
 * True if @name is the container of this tenant, which the first one to come becomes. Two names may
 * have one number, and the second one must not see what is the first one's.
 */
static bool is_of_tenant(struct server *server, const char *name)
{
	int r;

	if (!container_is_tenant(server->seat->owner))
		return !name[0];
	if (strcmp(server->container, name) == 0)
		return true;
	r = server->container[0] ? -EPERM : container_claim(server->config->store_path, name);
	if (r == 0) {
		name_tenant(server, name);
		return true;
	}
	log_peer("container %s is not served: %s", name,
		r == -EPERM ? "another one has its number" : strerror(-r));
	return false;
}

int seated_next_connection(struct server *server, unsigned *ret_known)
{
	struct channel_message message;
	int fd = -1, r;

	while ((r = channel_receive(server->seat->door, &message, &fd)) == 1) {
		if (fd < 0)
			continue;
		*ret_known = (unsigned)message.number;
		if (is_of_tenant(server, message.name))
			return fd;
		receiver_drop(&server->receiver, TAKE_FD(fd));
	}
	errno = r == -EMFILE ? EMFILE : r == -EBADMSG ? EINTR : EAGAIN;
	return -1;
}

/* ---- messages of the supervisor ---------------------------------------------------------- */

static void take_question(struct server *server, int fd)
{
	struct seated *seated = server->seated;

	if (fd < 0)
		return;
	if (!server->is_recovering)
		server_take_question(server, fd);
	else if (seated->n_questions < QUESTIONS_MAX)
		seated->questions[seated->n_questions++] = fd;
	else
		close(fd);
}

static void say(struct server *server, enum channel_kind kind)
{
	server->seated->unsaid = worker_tell(server, kind, 0) == -EAGAIN ? kind : 0;
}

void seated_recovered(struct server *server)
{
	struct seated *seated = server->seated;

	say(server, CHANNEL_READY);
	for (unsigned i = 0; i < seated->n_questions; i++)
		server_take_question(server, seated->questions[i]);
	seated->n_questions = 0;
}

static void ask_settled(struct server *server)
{
	struct seated *seated = server->seated;

	if (seated->asked > seated->settled || seated->wanted <= seated->settled)
		return;
	if (worker_tell(server, CHANNEL_SETTLE, seated->wanted) == 0)
		seated->asked = seated->wanted;
}

bool seated_is_settled(struct server *server, uint64_t *ticket)
{
	struct seated *seated = server->seated;

	if (!ticket)
		return true;
	/*
	 * An answer under way may be older than what the caller has seen, so a new one is needed.
	 */
	if (!*ticket)
		*ticket = seated->wanted = seated->asked + 1;
	ask_settled(server);
	if (seated->settled < *ticket)
		return false;
	*ticket = 0;
	return true;
}

static void take_settled(struct server *server, const struct channel_message *message)
{
	struct seated *seated = server->seated;

	seated->settled = message->number;
	server->is_unreachable = message->name[0] != 0;
	ask_settled(server);
	session_settled(server);
}

static bool is_idle(const struct server *server)
{
	if (server->is_recovering || server->n_peers || all_tenants_is_asking(server))
		return false;
	for (const struct session *s = server->sessions; s; s = s->next)
		if (s->state != SESSION_CLOSED && s->state != SESSION_FAILED)
			return false;
	return true;
}

/* Acceptors have closed the door, so it holds all connections that will ever come. */
static void go(struct server *server)
{
	struct seated *seated = server->seated;

	seated->idle_beats = 0;
	server_take_arrived(server);
	if (is_idle(server)) {
		server_stop(server, 0);
		return;
	}
	say(server, CHANNEL_STAY);
}

static void take_message(struct server *server, const struct channel_message *message, int *fd)
{
	switch (message->kind) {
	case CHANNEL_STOP:
		server_stop(server, 0);
		break;
	case CHANNEL_RELOAD:
		server_reload(server);
		break;
	case CHANNEL_SETTLED:
		take_settled(server, message);
		break;
	case CHANNEL_GO:
		go(server);
		break;
	case CHANNEL_QUESTION:
		take_question(server, TAKE_FD(*fd));
		break;
	case CHANNEL_ANSWERER:
	case CHANNEL_NODE_ANSWERER:
	case CHANNEL_ANSWERERS_END:
		all_tenants_take(server, message, TAKE_FD(*fd));
		break;
	case CHANNEL_GIVE_BACK:
		(void)store_give_back(server->store, message->number);
		break;
	default:
		break;
	}
}

static void on_channel(evutil_socket_t fd, short what, void *data)
{
	struct server *server = data;
	struct channel_message message;
	int passed = -1, r;

	(void)what;
	while ((r = channel_receive(fd, &message, &passed)) != -EAGAIN) {
		if (r == 1)
			take_message(server, &message, &passed);
		close_fd(&passed);
		if (r != 0)
			continue;
		/*
		 * The supervisor is gone or has given up this worker, so it commits and ends. If
		 * that hangs, no other process would end it, and the next worker of the tenant
		 * waits for its lock: hence the alarm.
		 */
		event_del(server->seated->channel);
		(void)alarm(ORPHAN_S);
		server_stop(server, 0);
		return;
	}
}

/* ---- signs of life ----------------------------------------------------------------------- */

static void on_store_answer(struct flush_ticket *ticket, int error)
{
	struct server *server = ticket->data;

	(void)error;
	server->seated->is_store_asked = false;
	server->seated->beats = 0;
}

static bool store_goes_on(struct server *server)
{
	struct seated *seated = server->seated;
	uint64_t beats = store_beats(server->store);

	if (beats != seated->store_beats)
		seated->beats = 0;
	seated->store_beats = beats;
	seated->beats++;
	if (!seated->is_store_asked && seated->beats >= STORE_BEATS)
		seated->is_store_asked =
			store_flush(server->store, STORE_EVERYBODY, &seated->store_ticket) == 0;
	return seated->beats < STORE_SILENCE;
}

static void ask_to_go(struct server *server)
{
	struct seated *seated = server->seated;

	seated->idle_beats = is_idle(server) ? seated->idle_beats + 1 : 0;
	if (seated->idle_beats < IDLE_BEATS || server->is_stopping)
		return;
	/*
	 * The supervisor does not answer if a connection is on its way. We ask again after the same
	 * time.
	 */
	(void)worker_tell(server, CHANNEL_MAY_GO, 0);
	seated->idle_beats = 0;
}

static void on_beat(evutil_socket_t fd, short what, void *data)
{
	struct server *server = data;

	(void)fd;
	(void)what;
	if (store_goes_on(server))
		atomic_store(&server->seat->page->beat_ns, clock_monotonic_ns());
	if (server->seated->unsaid)
		say(server, server->seated->unsaid);
	ask_to_go(server);
}

/* ---- start and end ----------------------------------------------------------------------- */

int seated_new(struct server *server, const struct seat *seat)
{
	struct seated *seated = calloc(1, sizeof(*seated));
	char container[CONTAINER_NAME_BYTES];

	if (!seated)
		return -ENOMEM;
	server->seat = seat;
	server->seated = seated;
	if (container_is_tenant(seat->owner)) {
		container_owner(server->config->store_path, container);
		name_tenant(server, container);
	}
	seated->store_ticket = (struct flush_ticket){.done = on_store_answer, .data = server};
	seated->channel =
		event_new(server->base, seat->channel, EV_READ | EV_PERSIST, on_channel, server);
	seated->beat = event_new(server->base, -1, EV_PERSIST, on_beat, server);
	if (!seated->channel || !seated->beat || event_add(seated->channel, NULL) < 0 ||
		timer_start(seated->beat, BEAT_MS) < 0)
		return -ENOMEM;
	return 0;
}

void seated_free(struct server *server)
{
	struct seated *seated = server->seated;

	if (!seated)
		return;
	all_tenants_done(server);
	for (unsigned i = 0; i < seated->n_questions; i++)
		close(seated->questions[i]);
	event_done(seated->channel);
	event_done(seated->beat);
	free(seated);
	server->seated = NULL;
	server->seat = NULL;
}

/* SPDX-License-Identifier: MIT */
#include "collectord/loop/server.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collectord/channel/channel.h"
#include "collectord/channel/seat.h"
#include "collectord/loop/sessions/access.h"
#include "collectord/service/config.h"
#include "collectord/loop/tools/ctl.h"
#include "collectord/loop/sessions/detached.h"
#include "collectord/loop/other_users.h"
#include "collectord/loop/resume.h"
#include "collectord/loop/sessions/instance.h"
#include "collectord/loop/sessions/instances.h"
#include "collectord/service/listen.h"
#include "collectord/loop/sessions/fd_store.h"
#include "collectord/service/log.h"
#include "collectord/loop/connections/peer.h"
#include "collectord/loop/tools/kept_sessions.h"
#include "collectord/loop/tools/removed_sessions.h"
#include "collectord/loop/sessions/runner.h"
#include "collectord/loop/seated.h"
#include "collectord/loop/sessions/session.h"
#include "collectord/loop/shim_peer.h"
#include "collectord/loop/shutdown.h"
#include "collectord/store/store.h"
#include "collectord/loop/tools/overview.h"
#include "collectord/loop/tools/queries.h"
#include "collectord/loop/connections/timers.h"
#include "proto/base/cleanup.h"
#include "proto/base/limits.h"
#include "proto/base/user_namespace.h"
#include "proto/base/list.h"

/*
 * Cost of connections accepted before other events get their turn. Admitting one costs ADMIT_COST,
 * rejecting one costs 1.
 */
#define ACCEPT_BATCH		256u
#define ADMIT_COST		8u
/* So many connections beyond CONNECTIONS_MAX are told the reason; further ones are just closed. */
#define CONNECTIONS_REFUSED_MAX 64u
#define THROTTLE_MS		100u

static void stop_listening(struct server *server)
{
	for (size_t i = 0; i < server->n_listeners; i++)
		event_del(server->listeners[i]);
}

/*
 * Stops accepting for a while; the backlog keeps new connections. Returns false, and keeps
 * accepting, if the timer that ends the pause cannot be set.
 */
static bool throttle(struct server *server)
{
	if (timer_start(server->throttle, THROTTLE_MS) < 0)
		return false;
	server->is_throttled = true;
	stop_listening(server);
	return true;
}

/* If memory runs out, tries again soon. */
static void start_listening(struct server *server)
{
	bool is_whole = true;

	for (size_t i = 0; i < server->n_listeners; i++)
		is_whole &= event_add(server->listeners[i], NULL) == 0;
	if (!is_whole)
		(void)throttle(server);
}

static void add_peer(struct server *server, struct peer *peer)
{
	peer->next = server->peers;
	if (server->peers)
		server->peers->previous = peer;
	server->peers = peer;
	server->n_peers++;
	server->accepted++;
}

void server_take_question(struct server *server, int fd)
{
	struct peer *peer = NULL;

	if (peer_new(server, fd, &peer) < 0) {
		close(fd);
		return;
	}
	server->n_questions++;
	peer->known = CHANNEL_PEER_KNOWN;
	peer->is_question = peer->has_access = peer->sees_all = true;
	add_peer(server, peer);
	peer_read(peer);
}

/* Returns NULL if @peer may stay, else the reason why not. */
static const char *check_peer(struct server *server, const struct peer *peer)
{
	const char *why = access_check_identity(server, peer);

	if (!why && other_users_is(server, peer))
		why = other_users_check(server, peer);
	if (!why && server->n_peers - server->n_questions > CONNECTIONS_MAX)
		why = "too many connections of this user";
	return why;
}

/* If memory runs out, the connection waits in waiting_fd, and later ones in the backlog. */
static void admit(struct server *server, int fd)
{
	struct peer *peer = NULL;
	const char *why;
	int r = -EMFILE;

	if (server->n_peers < CONNECTIONS_MAX + CONNECTIONS_REFUSED_MAX)
		r = peer_new(server, fd, &peer);
	if (r == -ENOMEM && throttle(server)) {
		log_peer("no memory for a connection: it waits, accepting pauses");
		server->waiting_fd = fd;
		server->waiting_known = server->arriving;
		return;
	}
	if (r < 0) {
		receiver_drop(&server->receiver, fd);
		return;
	}
	add_peer(server, peer);
	why = check_peer(server, peer);
	if (why)
		peer_refuse(peer, "%s", why);
	else
		peer_read(peer); /* the first frame is usually there already */
	peer_limits_make_way(server, peer);
}

static void unthrottle(struct server *server)
{
	if (!server->is_throttled || server->is_stopping || server->is_recovering)
		return;
	server->is_throttled = false;
	event_del(server->throttle);
	start_listening(server);
	if (!server->is_throttled && server->waiting_fd >= 0) {
		server->arriving = server->waiting_known;
		admit(server, TAKE_FD(server->waiting_fd));
		server->arriving = 0;
	}
}

static void on_throttle_end(evutil_socket_t fd, short what, void *data)
{
	(void)fd;
	(void)what;
	unthrottle(data);
}

/*
 * Accepts and closes one connection. If the descriptors are exhausted, a connection that cannot be
 * accepted keeps the listener readable, and the loop would spin.
 */
static void shed_one(struct server *server, int listener)
{
	int fd;

	close_p(&server->spare_fd);
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	close_p(&fd);
	server->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	log_peer("no file descriptors left: a connection was closed, accepting pauses");
	(void)throttle(server);
}

/* Returns false if no connection is waiting, or if accepting must pause. */
static bool may_accept_more(struct server *server, int listener, int error)
{
	switch (error) {
	case EINTR:
	case ECONNABORTED:
		return true;
	case EMFILE:
	case ENFILE:
		shed_one(server, listener);
		return false;
	case ENOMEM:
	case ENOBUFS:
		log_peer("the kernel has no memory for a connection: accepting pauses");
		(void)throttle(server);
		return false;
	default:
		return false;
	}
}

/* As accept(). A worker takes connections from its door instead of the sockets of the service. */
static int next_connection(struct server *server, int listener)
{
	return server->seat ? seated_next_connection(server, &server->arriving)
			    : listen_accept(listener);
}

/* Returns true if more connections may be waiting. */
static bool accept_some(struct server *server, int listener)
{
	for (unsigned cost = 0; cost < ACCEPT_BATCH; cost++) {
		int fd;

		if (server->is_throttled || server->is_stopping || server->is_recovering)
			return false;
		fd = next_connection(server, listener);
		if (fd < 0) {
			if (!may_accept_more(server, listener, errno))
				return false;
			continue;
		}
		if (!peer_limits_connect(server, fd)) {
			server->arriving = 0;
			receiver_drop(&server->receiver, fd);
			continue;
		}
		admit(server, fd);
		server->arriving = 0;
		cost += ADMIT_COST - 1;
	}
	return true;
}

static void on_connection(evutil_socket_t fd, short what, void *data)
{
	(void)what;
	(void)accept_some(data, fd);
}

/*
 * Accepts what is in the backlog now. The number of turns is bounded, because a flood may never
 * end.
 */
static void take_backlog(struct server *server, int listener)
{
	for (unsigned i = 0; i < LISTEN_BACKLOG * ADMIT_COST / ACCEPT_BATCH; i++)
		if (!accept_some(server, listener))
			return;
}

void server_take_arrived(struct server *server)
{
	take_backlog(server, server->listener_fds[0]);
}

static bool is_settled(struct server *server, uid_t uid, uint64_t *ticket)
{
	struct peer *ungreeted[UNGREETED_MAX];
	size_t n = 0;

	if (!server->is_settling) {
		server->is_settling = true;
		for (size_t i = 0; i < server->n_listeners; i++)
			take_backlog(server, server->listener_fds[i]);
		for (struct peer *p = server->peers; p && n < UNGREETED_MAX; p = p->next)
			if (peer_limits_is_silent(p) &&
				(p->uid == uid || server->config->is_private))
				ungreeted[n++] = p;
		/* Peers that end here stay allocated until the loop turns. */
		for (size_t i = 0; i < n; i++)
			if (!ungreeted[i]->role)
				peer_read(ungreeted[i]);
		server->is_settling = false;
	}
	if ((server->is_throttled || server->is_recovering) && !server->is_stopping)
		return false;
	for (const struct peer *p = server->peers; p; p = p->next)
		if (peer_limits_is_silent(p) && (p->uid == uid || server->config->is_private))
			return false;
	return !server->seat || server->is_stopping || seated_is_settled(server, ticket);
}

static void greet(struct server *server, struct peer *peer, const uint8_t *data, size_t bytes)
{
	Rtl__Frame *frame = NULL;
	int r = msg_unpack(&server->arena, data, bytes, &frame);

	if (r == -ENOMEM && peer->n_passed) {
		shim_peer_put_off(peer);
		return;
	}
	if (r < 0) {
		peer_refuse(peer, "%s",
			r == -ENOMEM ? peer_no_memory
				     : "the first frame is not one of this protocol");
		return;
	}
	/*
	 * Where it may be of another tenant it is not taken. If it has said Hello before, that
	 * tenant has its recorder, and its records would be stored twice.
	 */
	if (frame->body_case == RTL__FRAME__BODY_HELLO && !(peer->known & CHANNEL_PEER_IN_DOUBT))
		shim_peer_greet(peer, frame->hello, data, bytes);
	else if (!(peer->known & CHANNEL_PEER_KNOWN))
		peer_refuse(
			peer, "its container is not known: the process that connected has ended");
	else if (other_users_is(server, peer))
		peer_refuse(peer, "this collector is private to another user");
	else if (peer->n_passed)
		peer_refuse(peer, "only Hello may carry a file descriptor");
	else if (frame->body_case == RTL__FRAME__BODY_RUNNER_HELLO)
		runner_greet(peer, frame->runner_hello);
	else if (tool_is_request(frame))
		tool_greet(peer, frame, data, bytes);
	else
		peer_refuse(peer, "the first frame must be a Hello or a request");
}

static void end_peer(struct server *server, struct peer *peer)
{
	if (peer->previous)
		peer->previous->next = peer->next;
	else
		server->peers = peer->next;
	if (peer->next)
		peer->next->previous = peer->previous;
	server->n_peers--;
	server->n_questions -= peer->is_question;
	peer->previous = NULL;
	peer->next = server->dead;
	server->dead = peer;
	event_active(server->reaper, EV_TIMEOUT, 1);
	if (server->is_stopping)
		stop_check(server);
}

static void on_reap(evutil_socket_t fd, short what, void *data)
{
	struct server *server = data;

	(void)fd;
	(void)what;
	while (server->dead)
		peer_free(LIST_POP(server->dead));
}

/* The backlog has kept the connections that arrived during recovery. */
static void end_recovery(struct server *server)
{
	server->is_recovering = false;
	if (!server->is_stopping)
		kept_resume(server, server->sockets);
	if (!server->is_stopping)
		start_listening(server);
	if (server->seat)
		seated_recovered(server);
}

static void dispatch(struct server *server, struct store_answer *answer)
{
	struct flush_ticket *ticket = answer->owner;

	switch (answer->kind) {
	case STORE_CONTROLS:
	case STORE_CALLED:
	case STORE_MADE:
	case STORE_OPENED:
	case STORE_FAILED:
	case STORE_CLOSED:
	case STORE_LEFT_PROCESS:
	case STORE_DEGRADED:
	case STORE_RECOVERED:
	case STORE_HELD:
	case STORE_LET_GO:
	case STORE_OVER_QUOTA:
	case STORE_WITHIN_QUOTA:
		session_answer(answer->owner, answer);
		break;
	case STORE_FLUSHED:
	case STORE_DISPOSED:
		ticket->done(ticket, answer->error);
		break;
	case STORE_LEFT_SESSION:
		session_take_left(server, answer);
		break;
	case STORE_LEFT_CLOSED:
		session_take_closed(server, answer);
		break;
	case STORE_LEFT_FAILED:
		log_warning(
			"left alone: %s", answer->text ? answer->text : strerror(-answer->error));
		break;
	case STORE_SET_ASIDE:
	case STORE_CUT:
		log_warning("%s", answer->text ? answer->text : strerror(-answer->error));
		break;
	case STORE_REMOVED:
		removed_take(server, answer);
		break;
	case STORE_MARKED:
		kept_sessions_take(server, answer);
		break;
	case STORE_KEPT:
		log_warning("%s", answer->text ? answer->text : "a file cannot be removed");
		break;
	case STORE_LEFT_DONE:
		end_recovery(server);
		break;
	default:
		instance_answer(answer->owner, answer);
		break;
	}
}

static void on_answers(evutil_socket_t fd, short what, void *data)
{
	struct server *server = data;
	struct store_answer answer;

	(void)fd;
	(void)what;
	while (store_next_answer(server->store, &answer) > 0) {
		dispatch(server, &answer);
		store_answer_done(&answer);
	}
}

static void on_keep_retry(evutil_socket_t fd, short what, void *data)
{
	(void)fd;
	(void)what;
	kept_retry(data);
}

static void on_signal(evutil_socket_t fd, short what, void *data)
{
	struct signalfd_siginfo info;

	(void)what;
	while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		stop_on_signal(data, (int)info.ssi_signo);
}

static void fill_signals(sigset_t *ret)
{
	sigemptyset(ret);
	sigaddset(ret, SIGTERM);
	sigaddset(ret, SIGINT);
	sigaddset(ret, SIGHUP);
}

void server_block_signals(void)
{
	sigset_t signals;

	fill_signals(&signals);
	sigprocmask(SIG_BLOCK, &signals, NULL);
}

/*
 * The signals are blocked and read from a signalfd, so that one sent before the loop runs is not
 * lost.
 */
static int add_signals(struct server *server)
{
	sigset_t signals;

	server_block_signals();
	fill_signals(&signals);
	server->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (server->signal_fd < 0)
		return -errno;
	server->signals =
		event_new(server->base, server->signal_fd, EV_READ | EV_PERSIST, on_signal, server);
	return server->signals && event_add(server->signals, NULL) == 0 ? 0 : -ENOMEM;
}

static int add_listeners(struct server *server, const struct listen_sockets *sockets)
{
	for (size_t i = 0; i < sockets->count; i++) {
		server->listener_fds[i] = sockets->fds[i];
		server->listeners[i] = event_new(
			server->base, sockets->fds[i], EV_READ | EV_PERSIST, on_connection, server);
		if (!server->listeners[i])
			return -ENOMEM;
		server->n_listeners++;
		if (event_add(server->listeners[i], NULL) < 0)
			return -ENOMEM;
	}
	return 0;
}

/*
 * The group whose members see every session. A private collector admits only its own user and root,
 * so it has no such group.
 */
static gid_t find_group(const struct config *config)
{
	const struct group *group = config->is_private ? NULL : getgrnam(CONFIG_USER);

	return group ? group->gr_gid : (gid_t)-1;
}

static int build(struct server *server, struct listen_sockets *sockets)
{
	int r;

	msg_arena_init(&server->arena, ARENA_BYTES_MAX);
	server->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	server->hides_uids = namespace_hides_uids();
	server->hidden_uid = namespace_hidden_uid();
	server->see_all_gid = find_group(server->config);
	server->base = event_base_new();
	if (!server->base || msg_arena_reserve(&server->arena) < 0)
		return -ENOMEM;
	server->reaper = event_new(server->base, -1, 0, on_reap, server);
	server->throttle = evtimer_new(server->base, on_throttle_end, server);
	server->keep_retry = evtimer_new(server->base, on_keep_retry, server);
	server->answers = event_new(server->base, store_answer_fd(server->store),
		EV_READ | EV_PERSIST, on_answers, server);
	if (!server->reaper || !server->throttle || !server->keep_retry || !server->answers ||
		event_add(server->answers, NULL) < 0)
		return -ENOMEM;
	r = receiver_watch(&server->receiver, server->base);
	if (r == 0)
		r = peer_limits_init(server);
	if (r == 0)
		r = stop_init(server);
	if (r == 0)
		r = add_signals(server);
	if (r == 0)
		r = add_listeners(server, sockets);
	if (r < 0)
		return r;
	if (server->config->private_session) {
		r = session_open_private(server, &server->private_session);
		if (r == 0)
			kept_resume(server, sockets);
		return r;
	}
	server->is_recovering = true;
	stop_listening(server);
	return store_recover(
		server->store, server->config->db_file ? server->config->store_path : NULL);
}

static const struct server_calls calls = {
	.greet = greet,
	.peer_ended = end_peer,
	.is_settled = is_settled,
	.stop = server_stop,
	.control_changed = ctl_check,
};

int server_new(const struct config *config, struct listen_sockets *sockets, struct store *store,
	struct server **ret)
{
	struct server *server = calloc(1, sizeof(*server));
	int r;

	if (!server)
		return -ENOMEM;
	server->calls = &calls;
	server->config = config;
	server->store = store;
	server->sockets = sockets;
	server->spare_fd = -1;
	server->waiting_fd = -1;
	server->signal_fd = -1;
	receiver_init(&server->receiver, config->is_private);
	server->received = malloc(SERVER_RECEIVED_BYTES);
	server->instances = calloc(1, sizeof(*server->instances));
	server->other_users = calloc(1, sizeof(*server->other_users));
	r = server->received && server->instances && server->other_users ? build(server, sockets)
									 : -ENOMEM;
	if (r < 0) {
		server_free(server);
		return r;
	}
	*ret = server;
	return 0;
}

int server_sit(struct server *server, const struct seat *seat)
{
	int r = seated_new(server, seat);

	if (r < 0)
		return r;
	server->listener_fds[0] = seat->door;
	server->listeners[0] =
		event_new(server->base, seat->door, EV_READ | EV_PERSIST, on_connection, server);
	server->n_listeners = server->listeners[0] ? 1 : 0;
	return server->listeners[0] ? 0 : -ENOMEM;
}

int server_run(struct server *server)
{
	if (!server->seat)
		event_base_dispatch(server->base);
	/* A worker publishes its counts before each wait. */
	else
		do {
			overview_publish(server);
			event_base_loop(server->base, EVLOOP_ONCE);
		} while (!event_base_got_break(server->base));
	return server->exit_code;
}

struct server *server_free(struct server *server)
{
	if (!server)
		return NULL;
	server->is_stopping = true;
	while (server->peers)
		peer_close(server->peers);
	if (server->waiting_fd >= 0)
		receiver_drop(&server->receiver, TAKE_FD(server->waiting_fd));
	receiver_done(&server->receiver);
	if (server->base)
		on_reap(-1, 0, server);
	ctl_done(server);
	seated_free(server);
	peer_limits_done(server);
	removed_done(server);
	kept_sessions_done(server);
	while (server->sessions)
		session_free(LIST_POP(server->sessions));
	detached_free(&server->detached);
	for (size_t i = 0; i < server->n_listeners; i++)
		event_done(server->listeners[i]);
	event_done(server->signals);
	close_p(&server->signal_fd);
	stop_done(server);
	event_done(server->answers);
	event_done(server->reaper);
	event_done(server->throttle);
	kept_done(server);
	event_done(server->keep_retry);
	close_p(&server->spare_fd);
	msg_arena_done(&server->arena);
	free(server->received);
	free(server->instances);
	free(server->other_users);
	if (server->base)
		event_base_free(server->base);
	free(server);
	return NULL;
}

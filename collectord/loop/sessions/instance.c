/* SPDX-License-Identifier: MIT */
#include "collectord/loop/sessions/instance.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "collectord/loop/sessions/exit_status.h"
#include "proto/base/fault.h"
#include "collectord/loop/sessions/fd_store.h"
#include "collectord/loop/sessions/instances.h"
#include "collectord/service/log.h"
#include "collectord/loop/connections/peer.h"
#include "collectord/loop/connections/state.h"
#include "collectord/loop/sessions/session.h"
#include "collectord/store/store.h"
#include "collectord/loop/connections/timers.h"
#include "proto/base/cleanup.h"
#include "proto/base/limits.h"

/* Interval at which /proc is checked for the process if there is no pidfd. */
#define LIVENESS_MS    200u
/*
 * The parent may reap the process a moment later, so we ask again after 1, 2, 4 ... 128 ms; then
 * the status is unknown.
 */
#define EXIT_TRIES_MAX 8u

static const char *const state_names[] = {
	[INSTANCE_OPENING] = "connected",
	[INSTANCE_STREAMING] = "connected",
	[INSTANCE_AWAY] = "away",
	[INSTANCE_DYING] = "ending",
	[INSTANCE_DRAINING] = "ending",
};

static const char *const end_names[] = {
	[INSTANCE_END_UNKNOWN] = "ended",
	[INSTANCE_END_EXITED] = "exited",
	[INSTANCE_END_KILLED] = "killed",
	[INSTANCE_END_EXEC] = "exec",
	[INSTANCE_END_DETACHED] = "detached",
};

static const enum store_ended store_ends[] = {
	[INSTANCE_END_UNKNOWN] = STORE_ENDED_UNKNOWN,
	[INSTANCE_END_EXITED] = STORE_ENDED_EXITED,
	[INSTANCE_END_KILLED] = STORE_ENDED_KILLED,
	[INSTANCE_END_EXEC] = STORE_ENDED_EXEC,
	[INSTANCE_END_DETACHED] = STORE_ENDED_DETACHED,
};

/* Converts a wait status to the exit status that a shell reports. */
static int shell_status(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

static void join(struct instance *instance)
{
	struct session *session = instance->session;

	instance->next = session->instances;
	session->instances = instance;
	session->n_instances++;
	session->n_live++;
	instances_add(session->server->instances, instance);
}

/*
 * Number of bytes allocated to the recorder. fstat() does not block on a lock that the owner of the
 * file holds.
 */
static uint64_t recorder_bytes(int memfd)
{
	struct stat st;

	return memfd >= 0 && fstat(memfd, &st) == 0 ? (uint64_t)st.st_blocks * 512 : 0;
}

/* Enters @state, from which the instance never becomes live again. */
static void set_dead(struct instance *instance, enum instance_state state)
{
	struct session *session = instance->session;

	if (instance_is_live(instance))
		instance->unread_bytes = recorder_bytes(instance->memfd);
	if (instance_is_live(instance) && state != INSTANCE_ENDED)
		session->unread_bytes += instance->unread_bytes;
	else if (!instance_is_live(instance) && instance->state != INSTANCE_ENDED &&
		 state == INSTANCE_ENDED)
		session->unread_bytes -= instance->unread_bytes;
	session->n_live -= instance_is_live(instance);
	session->n_ended += state == INSTANCE_ENDED && instance->state != INSTANCE_ENDED;
	instance->state = state;
}

/*
 * Unlinks the instance from its current connection. The caller decides what becomes of the
 * connection.
 */
static struct peer *let_go(struct instance *instance)
{
	struct peer *peer = instance->peer;

	instance->peer = NULL;
	instance->is_welcomed = false;
	peer->role_data = NULL;
	instance->session->server->calls->control_changed(instance->session->server);
	return peer;
}

static int end_in_store(struct instance *instance)
{
	enum store_ended how = store_ends[instance->end];
	int r;

	if (!instance->store)
		return store_process_left(instance->session->store, instance->left_id, how,
			instance->exit_status, instance, &instance->store);
	r = store_process_end(instance->store, instance->memfd, how, instance->exit_status);
	if (r == 0)
		instance->memfd = -1; /* the store owns it now */
	return r;
}

/* The session waits for this process, so if the store has no memory for it, we try again later. */
static void tell_end(struct instance *instance)
{
	if (end_in_store(instance) == 0)
		return;
	log_error("no memory to drain pid %d now: it waits", instance->identity.pid);
	timer_start(instance->exit_timer, MEMORY_TRY_MS);
}

static void drain(struct instance *instance, enum instance_end how, int exit_status)
{
	set_dead(instance, INSTANCE_DRAINING);
	instance->end = how;
	instance->exit_status = exit_status;
	event_del(instance->death);
	event_del(instance->exit_timer);
	if (instance->peer) {
		/* Unread bytes are discarded: the recorder holds all of their records. */
		if (how == INSTANCE_END_DETACHED)
			peer_refuse(let_go(instance), "its session was closed while it lived");
		else
			peer_close(let_go(instance));
	}
	tell_end(instance);
}

static void ask_exit_status(struct instance *instance)
{
	int wait_status = 0;
	int r = exit_status_read(instance->pidfd, instance->identity.pid,
		instance->identity.start_time, &wait_status);

	if (r == 0)
		drain(instance,
			WIFSIGNALED(wait_status) ? INSTANCE_END_KILLED : INSTANCE_END_EXITED,
			shell_status(wait_status));
	else if (r == -ESRCH || instance->exit_tries == EXIT_TRIES_MAX)
		drain(instance, INSTANCE_END_UNKNOWN, -1);
	else
		timer_start(instance->exit_timer, 1u << instance->exit_tries++);
}

static void on_exit_timer(evutil_socket_t fd, short what, void *data)
{
	struct instance *instance = data;

	(void)fd;
	(void)what;
	if (instance->state == INSTANCE_DRAINING)
		tell_end(instance);
	else
		ask_exit_status(instance);
}

static void on_death(evutil_socket_t fd, short what, void *data)
{
	struct instance *instance = data;

	(void)fd;
	if ((what & EV_TIMEOUT) &&
		exit_status_start_time(instance->identity.pid) == instance->identity.start_time) {
		timer_start(instance->death, LIVENESS_MS);
		return;
	}
	event_del(instance->death);
	set_dead(instance, INSTANCE_DYING);
	if (instance->peer)
		peer_close(let_go(instance));
	ask_exit_status(instance);
}

/*
 * Gives the store a descriptor of its own. Without it the store cannot scan this process for
 * dispatches in flight.
 */
static void show_recorder(const struct instance *instance)
{
	int memfd = instance->memfd < 0 ? -1 : fcntl(instance->memfd, F_DUPFD_CLOEXEC, 3);

	if (memfd >= 0)
		(void)store_process_watch(instance->store, memfd);
}

static int watch(struct instance *instance, struct event_base *base)
{
	instance->exit_timer = evtimer_new(base, on_exit_timer, instance);
	if (instance->pidfd >= 0)
		instance->death = event_new(base, instance->pidfd, EV_READ, on_death, instance);
	else
		instance->death = evtimer_new(base, on_death, instance);
	if (!instance->exit_timer || !instance->death)
		return -ENOMEM;
	if (instance->pidfd >= 0)
		return event_add(instance->death, NULL) < 0 ? -ENOMEM : 0;
	timer_start(instance->death, LIVENESS_MS);
	return 0;
}

static struct instance *instance_free_unopened(struct instance *instance)
{
	instance->memfd = -1; /* the caller still owns both */
	instance->pidfd = -1;
	return instance_free(instance);
}

int instance_new(struct session *session, const struct instance_identity *identity, int memfd,
	int pidfd, const uint8_t *hello, size_t bytes, struct instance **ret)
{
	struct instance *instance = calloc(1, sizeof(*instance));
	uint8_t *copy = malloc(bytes);
	int r = -ENOMEM;

	if (instance && copy) {
		*instance = (struct instance){.session = session,
			.identity = *identity,
			.state = INSTANCE_OPENING,
			.memfd = memfd,
			.pidfd = pidfd};
		memcpy(copy, hello, bytes);
		r = watch(instance, session->server->base);
	}
	if (r == 0)
		r = store_process_open(session->store, TAKE(copy), bytes, identity->uid,
			identity->pid, identity->start_time, instance, &instance->store);
	free(copy);
	if (r < 0) {
		if (instance)
			instance_free_unopened(instance);
		return r;
	}
	instance->is_open_pending = true;
	join(instance);
	kept_put(instance);
	show_recorder(instance);
	*ret = instance;
	return 0;
}

int instance_new_left(struct session *session, const struct instance_identity *identity,
	uint64_t process_id, bool is_this_boot)
{
	struct instance *instance = calloc(1, sizeof(*instance));
	bool is_alive;

	if (!instance)
		return -ENOMEM;
	*instance = (struct instance){.session = session,
		.identity = *identity,
		.state = INSTANCE_AWAY,
		.left_id = process_id,
		.memfd = -1,
		.pidfd = -1};
	is_alive = is_this_boot &&
		   exit_status_find_living(identity->pid, identity->start_time, &instance->pidfd);
	if (watch(instance, session->server->base) < 0) {
		instance_free(instance);
		return -ENOMEM;
	}
	join(instance);
	if (!is_alive)
		drain(instance, INSTANCE_END_UNKNOWN, -1);
	else if (session_has_successor(session->server, identity))
		drain(instance, INSTANCE_END_EXEC, -1); /* the successor said Hello first */
	return 0;
}

int instance_adopt(struct instance *instance, int memfd, const uint8_t *hello, size_t bytes)
{
	const struct instance_identity *id = &instance->identity;
	uint8_t *copy = malloc(bytes);
	int r;

	if (!copy)
		return -ENOMEM;
	memcpy(copy, hello, bytes);
	r = store_process_open(instance->session->store, copy, bytes, id->uid, id->pid,
		id->start_time, instance, &instance->store);
	if (r < 0)
		return r;
	instance->memfd = memfd;
	kept_put(instance);
	show_recorder(instance);
	instance->state = INSTANCE_OPENING;
	instance->is_open_pending = true;
	return 0;
}

int instance_attach(struct instance *instance, struct peer *peer)
{
	int r;

	if (instance->peer)
		peer_close(let_go(instance));
	/*
	 * One pending answer serves the connection that is current when it arrives, because no
	 * connection may send a frame before it. A shim that reconnects again and again while the
	 * disk hangs therefore has only one command in the store's queue.
	 */
	if (!instance->is_open_pending) {
		r = store_process_reopen(instance->store);
		if (r < 0)
			return r;
		instance->is_open_pending = true;
	}
	instance->peer = peer;
	instance->had_peer = true;
	instance->state = INSTANCE_OPENING;
	return 0;
}

void instance_detach_peer(struct instance *instance)
{
	instance->peer = NULL;
	instance->is_welcomed = false;
	if (instance->state == INSTANCE_OPENING || instance->state == INSTANCE_STREAMING)
		instance->state = INSTANCE_AWAY;
	instance->session->server->calls->control_changed(instance->session->server);
}

size_t instance_room(struct instance *instance)
{
	return store_process_room(instance->store);
}

void instance_take_frames(struct instance *instance, const uint8_t *frames, size_t bytes)
{
	uint8_t *copy = malloc(bytes);
	int r = -ENOMEM;

	control_take(instance, frames, bytes);
	if (copy) {
		memcpy(copy, frames, bytes);
		r = store_process_frames(instance->store, copy, bytes);
	}
	/* Closes the connection if the frames were not taken: the shim sends them again. */
	if (r < 0)
		peer_close(instance->peer);
	else if (r > 0)
		peer_pause(instance->peer);
}

void instance_end(struct instance *instance, enum instance_end how)
{
	if (instance_is_live(instance))
		drain(instance, how, -1);
}

static bool is_dead(const struct instance *instance)
{
	struct pollfd poller = {.fd = instance->pidfd, .events = POLLIN};

	if (instance->state == INSTANCE_DYING)
		return true;
	return instance_is_live(instance) && instance->pidfd >= 0 && poll(&poller, 1, 0) == 1;
}

void instance_end_dead(struct instance *instance)
{
	if (!is_dead(instance))
		return;
	/* The collector ends and cannot wait until the parent has reaped the process. */
	instance->exit_tries = EXIT_TRIES_MAX;
	ask_exit_status(instance);
}

static void send_welcome(struct instance *instance, uint64_t last_frame)
{
	Rtl__Welcome welcome = RTL__WELCOME__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;

	MSG_SET(&welcome, version, PROTO_VERSION_MAX);
	MSG_SET(&welcome, last_frame, last_frame);
	msg_set_bytes(&welcome.has_session, &welcome.session, instance->session->name);
	frame.body_case = RTL__FRAME__BODY_WELCOME;
	frame.welcome = &welcome;
	instance->is_welcomed = true;
	instance->state = INSTANCE_STREAMING;
	peer_send(instance->peer, &frame);
	control_welcome(instance);
}

static void send_ack(struct instance *instance, uint64_t number)
{
	Rtl__Ack ack = RTL__ACK__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;

	FAULT_POINT("before_ack");
	MSG_SET(&ack, frame, number);
	frame.body_case = RTL__FRAME__BODY_ACK;
	frame.ack = &ack;
	peer_send(instance->peer, &frame);
	FAULT_POINT("after_ack");
}

static void on_opened(struct instance *instance, uint64_t last_frame)
{
	instance->is_open_pending = false;
	if (instance->peer)
		send_welcome(instance, last_frame);
	else if (instance->state == INSTANCE_OPENING)
		instance->state = INSTANCE_AWAY;
}

/* Called for the last answer: the store's queue holds nothing more of this process. */
static void on_ended(struct instance *instance, const struct store_answer *answer)
{
	struct session *session = instance->session;

	/*
	 * If the database could not be opened, perhaps because the disk is full, the recorder stays
	 * kept for the next collector.
	 */
	if (answer->kind == STORE_PROCESS_ENDED || answer->error != -EBADF || !instance->was_kept)
		kept_drop(session->server, &instance->identity);
	event_del(instance->death);
	event_del(instance->exit_timer);
	/*
	 * The pidfd is closed, because a session may outlive any number of its processes. A
	 * detached process is still watched.
	 */
	if (!instance_was_detached(instance)) {
		close_fd(&instance->pidfd);
	}
	if (answer->kind == STORE_PROCESS_FAILED) {
		instance->is_failed = true;
		close_fd(&instance->memfd);
		if (instance->peer)
			peer_refuse(let_go(instance), "%s",
				answer->text ? answer->text : "the database refused this process");
	}
	set_dead(instance, INSTANCE_ENDED);
	session_check(session);
}

void instance_answer(struct instance *instance, const struct store_answer *answer)
{
	switch (answer->kind) {
	case STORE_PROCESS_OPENED:
		instance->committed = answer->frame;
		on_opened(instance, answer->frame);
		break;
	case STORE_COMMITTED:
		instance->committed = answer->frame;
		instance->session->server->calls->control_changed(instance->session->server);
		if (instance->peer && instance->is_welcomed)
			send_ack(instance, answer->frame);
		break;
	case STORE_BAD_FRAME:
		/* While a reopen is pending, the answer concerns an older connection. */
		if (instance->peer && !instance->is_open_pending)
			peer_refuse(
				instance->peer, "%s", answer->text ? answer->text : "bad frame");
		break;
	case STORE_ROOM:
		if (instance->peer)
			peer_resume(instance->peer);
		break;
	case STORE_PROCESS_ENDED:
	case STORE_PROCESS_FAILED:
		on_ended(instance, answer);
		break;
	default:
		break;
	}
}

bool instance_was_detached(const struct instance *instance)
{
	return instance->end == INSTANCE_END_DETACHED;
}

const char *instance_state_name(const struct instance *instance)
{
	if (instance->is_failed)
		return "refused";
	if (instance->state == INSTANCE_ENDED)
		return end_names[instance->end];
	return state_names[instance->state];
}

struct instance *instance_free(struct instance *instance)
{
	if (!instance)
		return NULL;
	event_done(instance->death);
	event_done(instance->exit_timer);
	close_p(&instance->memfd);
	close_p(&instance->pidfd);
	free(instance);
	return NULL;
}

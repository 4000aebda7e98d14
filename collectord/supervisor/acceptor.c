/* SPDX-License-Identifier: MIT */
/*
 * The acceptor process. It reads only the credentials of a new connection, as the kernel reports
 * them, and passes the connection through the door of that tenant's worker. A refused connection
 * may hold unread descriptors of its peer, whose close may hang, so another process makes the last
 * close. The acceptor has no state that is hard to replace: if it hangs, another acceptor takes its
 * place.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collectord/service/config.h"
#include "collectord/service/container.h"
#include "collectord/service/listen.h"
#include "collectord/supervisor/internal.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "proto/base/limits.h"
#include "proto/base/subordinate_uids.h"
#include "proto/base/list.h"

/* A connection, with what the kernel told of its peer. */
struct arrival {
	int fd;
	unsigned known;			      /* enum channel_peer */
	char container[CONTAINER_NAME_BYTES]; /* "": none */
};

struct door {
	struct door *next;
	uid_t owner;
	char container[CONTAINER_NAME_BYTES]; /* of its first connection; "": none */
	int fd;				      /* -1: requested from the supervisor */
	struct arrival pending[PENDING_MAX];
	unsigned first, count; /* the ring of waiting connections */
	uint64_t round;	       /* to be confirmed when no connection waits; 0: none */
};

struct acceptor_self {
	const struct supervisor *s;
	int channel;
	struct door *doors;
	unsigned n_pending;
	bool is_paused;
	bool has_containers; /* a container was a tenant, in this life or before */
	int unwanted[UNWANTED_MAX];
	unsigned n_unwanted;
	uint64_t unwanted_ns; /* when the first of them was added */
	pid_t closer;	      /* the process that closes the last batch; 0: none */
};

static void send_message(const struct acceptor_self *a, const struct channel_message *message)
{
	int r;

	/* Waits until the supervisor has read its messages. */
	while ((r = channel_send(a->channel, message, -1)) == -EAGAIN)
		(void)poll(&(struct pollfd){.fd = a->channel, .events = POLLOUT}, 1, -1);
	if (r < 0)
		_exit(EXIT_SUCCESS); /* the supervisor is gone */
}

static void tell(const struct acceptor_self *a, enum channel_kind kind, uid_t owner, uint64_t round)
{
	const struct channel_message message = {.kind = kind, .owner = owner, .number = round};

	send_message(a, &message);
}

/*
 * Runs in the process that makes the last close of the unwanted connections: it exits when the
 * acceptor has closed its own descriptors of them. It first closes everything that must not wait
 * for it.
 */
_Noreturn static void hold_unwanted(const struct acceptor_self *a, int closed)
{
	char byte;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(a->channel);
	for (size_t i = 0; i < a->s->sockets->count; i++)
		close(a->s->sockets->fds[i]);
	for (const struct door *d = a->doors; d; d = d->next) {
		if (d->fd >= 0)
			close(d->fd);
		for (unsigned i = 0; i < d->count; i++)
			close(d->pending[(d->first + i) % PENDING_MAX].fd);
	}
	(void)!read(closed, &byte, 1);
	_exit(EXIT_SUCCESS);
}

/* Returns false if no process or pipe can be made. */
static bool start_closer(struct acceptor_self *a)
{
	int closed[2];
	pid_t pid;

	if (pipe2(closed, O_CLOEXEC) < 0)
		return false;
	pid = fork();
	if (pid == 0) {
		close(closed[1]);
		hold_unwanted(a, closed[0]);
	}
	a->closer = pid < 0 ? 0 : pid;
	while (pid > 0 && a->n_unwanted)
		close(a->unwanted[--a->n_unwanted]);
	close(closed[0]);
	close(closed[1]);
	return pid > 0;
}

/*
 * If no process can be started, or the running one is not done while the array is full, the
 * acceptor closes them itself and may hang: after a tenth of a second another acceptor takes over.
 */
static void close_unwanted(struct acceptor_self *a)
{
	if (!a->n_unwanted || (a->n_unwanted < UNWANTED_MAX &&
				      clock_monotonic_ns() - a->unwanted_ns < UNWANTED_NS))
		return;
	if (a->closer && waitpid(a->closer, NULL, WNOHANG) != 0)
		a->closer = 0;
	if (a->closer ? a->n_unwanted < UNWANTED_MAX : start_closer(a))
		return;
	tell(a, CHANNEL_CLOSING, 0, 0);
	while (a->n_unwanted)
		close(a->unwanted[--a->n_unwanted]);
	tell(a, CHANNEL_CLOSED, 0, 0);
}

/*
 * True if the connection, which is shut down first, holds only bytes. Descriptors in it are not
 * received, because closing them would call their file system.
 */
static bool is_plain(int fd)
{
	char bytes[PEEK_BYTES];
	struct iovec data = {bytes, sizeof(bytes)};
	struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1};
	ssize_t got;

	if (shutdown(fd, SHUT_RDWR) < 0)
		return errno == ENOTCONN;
	got = recvmsg(fd, &header, MSG_PEEK | MSG_DONTWAIT);
	return got < (ssize_t)sizeof(bytes) && !(header.msg_flags & MSG_CTRUNC);
}

static void refuse(struct acceptor_self *a, int fd)
{
	if (is_plain(fd)) {
		close(fd);
		return;
	}
	if (!a->n_unwanted)
		a->unwanted_ns = clock_monotonic_ns();
	a->unwanted[a->n_unwanted++] = fd;
	if (a->n_unwanted == UNWANTED_MAX)
		close_unwanted(a);
}

static struct door *find_door(struct acceptor_self *a, uid_t owner)
{
	struct door *door = a->doors;

	while (door && door->owner != owner)
		door = door->next;
	return door;
}

static void ask_for(struct acceptor_self *a, struct door *door)
{
	struct channel_message message = {.kind = CHANNEL_WANT_DOOR, .owner = door->owner};

	close_fd(&door->fd);
	strcpy(message.name, door->container);
	send_message(a, &message);
}

/* Returns false if the door is full or gone. */
static bool hand_over(struct acceptor_self *a, struct door *door, const struct arrival *arrival)
{
	struct channel_message message = {.kind = CHANNEL_CONNECTION, .number = arrival->known};
	int r = -EAGAIN;

	strcpy(message.name, arrival->container);
	if (door->fd >= 0)
		r = channel_send(door->fd, &message, arrival->fd);
	if (r == -EPIPE)
		ask_for(a, door);
	if (r < 0)
		return false;
	close(arrival->fd); /* the door holds it now */
	return true;
}

/*
 * Confirms the round: every connection made before the supervisor asked is in the door, or closed.
 */
static void say_accepted(struct acceptor_self *a, struct door *door)
{
	uint64_t round = door->round;

	if (!round || door->count)
		return;
	door->round = 0;
	tell(a, CHANNEL_ACCEPTED, door->owner, round);
}

static void flush(struct acceptor_self *a, struct door *door)
{
	while (door->count && hand_over(a, door, &door->pending[door->first])) {
		door->first = (door->first + 1) % PENDING_MAX;
		door->count--;
		a->n_pending--;
	}
	say_accepted(a, door);
}

static void put(struct acceptor_self *a, struct door *door, const struct arrival *arrival)
{
	if (!door->count && hand_over(a, door, arrival))
		return;
	if (door->count == PENDING_MAX ||
		(a->n_pending >= PENDING_ALL_MAX && door->count >= PENDING_LEAST)) {
		refuse(a, arrival->fd);
		return;
	}
	door->pending[(door->first + door->count++) % PENDING_MAX] = *arrival;
	a->n_pending++;
}

/* Removes the door and refuses the connections that wait for it. */
static void shut(struct acceptor_self *a, struct door *door)
{
	LIST_REMOVE(a->doors, door, next);
	for (; door->count; door->count--) {
		refuse(a, door->pending[door->first].fd);
		door->first = (door->first + 1) % PENDING_MAX;
		a->n_pending--;
	}
	say_accepted(a, door);
	close_p(&door->fd);
	free(door);
}

static struct door *make_door(struct acceptor_self *a, uid_t owner, const char *container)
{
	struct door *door = calloc(1, sizeof(*door));

	if (!door)
		return NULL;
	door->owner = owner;
	strcpy(door->container, container);
	door->fd = -1;
	door->next = a->doors;
	a->doors = door;
	ask_for(a, door);
	return door;
}

/* Returns false if the peer belongs to no tenant. */
static bool find_tenant(struct acceptor_self *a, struct arrival *arrival, uid_t *ret)
{
	struct container container = {.is_known = true};
	struct ucred ucred;
	socklen_t bytes = sizeof(ucred);

	if (getsockopt(arrival->fd, SOL_SOCKET, SO_PEERCRED, &ucred, &bytes) < 0)
		return false;
	if (!a->s->config->is_single_tenant)
		container = container_of_peer(arrival->fd);
	strcpy(arrival->container, container.name);
	a->has_containers |= container.name[0] != 0;
	if (container.is_known)
		arrival->known |= CHANNEL_PEER_KNOWN;
	else if (a->has_containers)
		arrival->known |= CHANNEL_PEER_IN_DOUBT;
	if (container.is_known && !container.name[0] && !container.is_in_pid_namespace)
		arrival->known |= CHANNEL_PEER_OF_HOST;
	*ret = container.name[0] ? container_tenant(container.name)
				 : subuids_owner(a->s->config->subuids, ucred.uid);
	/* The folder of a uid has its number, which may be that of a container. */
	return container.name[0] || (!container_is_tenant(*ret) && !container_is_tenant(ucred.uid));
}

static void take(struct acceptor_self *a, int fd)
{
	struct arrival arrival = {.fd = fd};
	struct door *door;
	uid_t tenant;

	if (!find_tenant(a, &arrival, &tenant)) {
		refuse(a, fd);
		return;
	}
	door = find_door(a, tenant);
	if (!door)
		door = make_door(a, tenant, arrival.container);
	if (door)
		put(a, door, &arrival);
	else
		refuse(a, fd);
}

/* Returns true if more connections may be waiting. */
static bool accept_some(struct acceptor_self *a, int listener)
{
	for (unsigned i = 0; i < BATCH; i++) {
		int fd = listen_accept(listener);

		if (fd >= 0) {
			take(a, fd);
			continue;
		}
		if (errno == EINTR || errno == ECONNABORTED)
			continue;
		a->is_paused |= errno != EAGAIN;
		return false;
	}
	return true;
}

/* Accepts what has connected before now. The loop is bounded, because a flood may never end. */
static void take_backlog(struct acceptor_self *a)
{
	for (size_t i = 0; i < a->s->sockets->count; i++)
		for (unsigned n = 0; n < LISTEN_BACKLOG / BATCH; n++)
			if (!accept_some(a, a->s->sockets->fds[i]))
				break;
}

static void open_door(struct acceptor_self *a, uid_t owner, int fd)
{
	struct door *door = find_door(a, owner);

	if (!door || fd < 0) {
		close_p(&fd);
		return;
	}
	close_p(&door->fd);
	door->fd = fd;
	flush(a, door);
}

/* The worker of the door leaves. Waiting connections request a new door; later ones do the same. */
static void forget(struct acceptor_self *a, struct door *door)
{
	if (door->count)
		ask_for(a, door);
	else
		shut(a, door);
}

/* A full door delays the confirmation of its own tenant only. */
static void look_for(struct acceptor_self *a, const struct channel_message *message)
{
	struct door *door;

	take_backlog(a);
	door = find_door(a, message->owner);
	if (!door) {
		tell(a, CHANNEL_ACCEPTED, message->owner, message->number);
		return;
	}
	door->round = message->number;
	if (message->kind == CHANNEL_FORGET)
		forget(a, door);
	else
		say_accepted(a, door);
}

static void hear(struct acceptor_self *a)
{
	struct channel_message message;
	int fd = -1, r;

	while ((r = channel_receive(a->channel, &message, &fd)) > 0) {
		struct door *door = find_door(a, message.owner);

		if (message.kind == CHANNEL_DOOR)
			open_door(a, message.owner, TAKE_FD(fd));
		else if (message.kind == CHANNEL_NO_DOOR && door)
			shut(a, door);
		else if (message.kind == CHANNEL_ACCEPT || message.kind == CHANNEL_FORGET)
			look_for(a, &message);
		close_fd(&fd);
	}
	if (r == 0)
		_exit(EXIT_SUCCESS);
}

static void wait_for_more(struct acceptor_self *a)
{
	struct pollfd polls[1 + LISTEN_SOCKETS_MAX + WORKERS_MAX];
	struct door *doors[1 + LISTEN_SOCKETS_MAX + WORKERS_MAX];
	size_t n_listeners = a->s->sockets->count, n = 1 + n_listeners;

	polls[0] = (struct pollfd){.fd = a->channel, .events = POLLIN};
	for (size_t i = 0; i < n_listeners; i++)
		polls[1 + i] = (struct pollfd){
			.fd = a->is_paused ? -1 : a->s->sockets->fds[i], .events = POLLIN};
	for (struct door *d = a->doors; d && n < sizeof(polls) / sizeof(*polls); d = d->next) {
		if (!d->count || d->fd < 0)
			continue;
		polls[n] = (struct pollfd){.fd = d->fd, .events = POLLOUT};
		doors[n++] = d;
	}
	(void)poll(polls, n, a->is_paused || a->n_unwanted ? PAUSE_MS : -1);
	a->is_paused = false;
	/* Done before messages are read, which may free doors. */
	for (size_t i = 1 + n_listeners; i < n; i++)
		if (polls[i].revents)
			flush(a, doors[i]);
	for (size_t i = 1; i <= n_listeners; i++)
		if (polls[i].revents)
			(void)accept_some(a, polls[i].fd);
}

_Noreturn void acceptor_run(const struct supervisor *s, int channel)
{
	struct acceptor_self a = {.s = s, .channel = channel};

	for (const struct worker *w = s->workers; w; w = w->next)
		a.has_containers |= container_is_tenant(w->owner);
	for (;;) {
		hear(&a);
		close_unwanted(&a);
		wait_for_more(&a);
	}
}

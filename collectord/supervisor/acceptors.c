/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "collectord/service/listen.h"
#include "collectord/service/log.h"
#include "collectord/supervisor/internal.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"

static bool accepts(const struct acceptor *acceptor)
{
	return acceptor->pid && !acceptor->hangs && acceptor->channel >= 0;
}

static struct acceptor *find_place(struct supervisor *s)
{
	for (struct acceptor *a = s->acceptors; a < s->acceptors + ACCEPTORS_MAX; a++) {
		if (accepts(a))
			return NULL;
	}
	for (struct acceptor *a = s->acceptors; a < s->acceptors + ACCEPTORS_MAX; a++)
		if (!a->pid)
			return a;
	/*
	 * Every place is taken by a process that was killed but has not ended. Reuses the place of
	 * one: the supervisor needs no further news of it.
	 */
	s->next_hanging = (s->next_hanging + 1) % ACCEPTORS_MAX;
	return &s->acceptors[s->next_hanging];
}

void acceptors_start(struct supervisor *s)
{
	struct acceptor *place = s->is_stopping ? NULL : find_place(s);
	uint64_t now_ns = clock_monotonic_ns();
	int keep[LISTEN_SOCKETS_MAX + 1], pair[2], r;
	size_t n = 0;

	if (!place || now_ns < s->acceptor_retry_ns)
		return;
	s->acceptor_retry_ns = now_ns + RETRY_NS_MIN;
	r = channel_pair(pair);
	if (r < 0) {
		log_error("cannot accept connections now: %s", strerror(-r));
		return;
	}
	for (size_t i = 0; i < s->sockets->count; i++)
		keep[n++] = s->sockets->fds[i];
	keep[n++] = pair[1];
	r = process_fork(keep, n, true);
	if (r == 0)
		acceptor_run(s, pair[1]);
	close(pair[1]);
	if (r < 0) {
		log_error("cannot accept connections now: %s", strerror(-r));
		close(pair[0]);
		return;
	}
	*place = (struct acceptor){.pid = r, .channel = pair[0]};
	s->acceptor_retry_ns = 0;
	workers_tell_newcomer(s, place);
}

bool acceptors_are_there(const struct supervisor *s)
{
	for (const struct acceptor *a = s->acceptors; a < s->acceptors + ACCEPTORS_MAX; a++)
		if (accepts(a))
			return true;
	return false;
}

uint64_t acceptors_tell(struct supervisor *s, const struct channel_message *message, int fd)
{
	uint64_t told = 0;

	for (unsigned i = 0; i < ACCEPTORS_MAX; i++) {
		const struct acceptor *a = &s->acceptors[i];

		if (!accepts(a))
			continue;
		if (channel_send(a->channel, message, fd) == 0)
			told |= UINT64_C(1) << i;
		else
			(void)kill(a->pid, SIGKILL); /* it does not read its channel: another one
						      * will accept */
	}
	return told;
}

/* Does not wait for its end: its place is free when the process has ended. */
static void replace(struct supervisor *s, struct acceptor *acceptor)
{
	close_fd(&acceptor->channel);
	acceptor->hangs = true;
	acceptors_start(s);
	workers_forget_acceptor(s, (unsigned)(acceptor - s->acceptors));
}

void acceptors_hear(struct supervisor *s, struct acceptor *acceptor)
{
	struct channel_message message;
	int fd = -1, r;

	while ((r = channel_receive(acceptor->channel, &message, &fd)) > 0) {
		close_fd(&fd);
		if (message.kind == CHANNEL_WANT_DOOR)
			workers_want_door(s, acceptor, &message);
		else if (message.kind == CHANNEL_CLOSING)
			acceptor->closing_ns = clock_monotonic_ns();
		else if (message.kind == CHANNEL_CLOSED)
			acceptor->closing_ns = 0;
		else if (message.kind == CHANNEL_ACCEPTED)
			workers_accepted(s, (unsigned)(acceptor - s->acceptors), &message);
	}
	if (r == 0)
		replace(s, acceptor);
}

bool acceptors_ended(struct supervisor *s, pid_t pid)
{
	for (struct acceptor *a = s->acceptors; a < s->acceptors + ACCEPTORS_MAX; a++) {
		if (a->pid != pid)
			continue;
		close_p(&a->channel);
		*a = (struct acceptor){.channel = -1};
		acceptors_start(s);
		workers_forget_acceptor(s, (unsigned)(a - s->acceptors));
		return true;
	}
	return false;
}

void acceptors_watch(struct supervisor *s, uint64_t now_ns)
{
	for (struct acceptor *a = s->acceptors; a < s->acceptors + ACCEPTORS_MAX; a++) {
		if (!accepts(a) || !a->closing_ns || now_ns - a->closing_ns < HANG_NS)
			continue;
		log_peer("closing a connection takes long: another process accepts");
		(void)kill(a->pid, SIGKILL);
		replace(s, a);
	}
	acceptors_start(s);
}

void acceptors_stop(struct supervisor *s)
{
	for (struct acceptor *a = s->acceptors; a < s->acceptors + ACCEPTORS_MAX; a++)
		if (a->pid)
			(void)kill(a->pid, SIGKILL);
}

/* SPDX-License-Identifier: MIT */
#include "collectord/loop/request_limits.h"

#include <errno.h>
#include <unistd.h>

#include "collectord/loop/peer.h"
#include "collectord/loop/server.h"
#include "proto/base/clock.h"
#include "proto/base/limits.h"

/* Interval at which paused connections are checked. */
#define LOOK_MS 20u

/* Returns the bucket of @uid, refilled up to now. */
static struct requests_user *find_user(struct requests *requests, uid_t uid)
{
	struct requests_user *oldest = &requests->user[0], *user = NULL;
	uint64_t now_ns = clock_monotonic_ns();

	for (struct requests_user *u = oldest; u < requests->user + REQUESTS_USERS; u++) {
		if (u->last_ns && u->uid == uid)
			user = u;
		if (u->last_ns < oldest->last_ns)
			oldest = u;
	}
	if (!user) {
		user = oldest;
		*user = (struct requests_user){
			.uid = uid, .last_ns = now_ns, .left = REQUESTS_BURST_MAX};
	}
	user->left += (double)(now_ns - user->last_ns) / 1e9 * REQUESTS_PER_S_MAX;
	user->last_ns = now_ns;
	if (user->left > REQUESTS_BURST_MAX)
		user->left = REQUESTS_BURST_MAX;
	return user;
}

static void look_again(struct server *server)
{
	struct timeval timeout = {.tv_usec = LOOK_MS * 1000};

	event_add(server->requests.timer, &timeout);
}

static void on_timer(evutil_socket_t fd, short what, void *data)
{
	struct server *server = data;
	bool has_waiting = false;

	(void)fd;
	(void)what;
	for (struct peer *p = server->peers; p;) {
		if (!p->is_waiting || find_user(&server->requests, p->owner)->left < 0) {
			has_waiting |= p->is_waiting;
			p = p->next;
			continue;
		}
		p->is_waiting = false;
		if (!p->is_held)
			peer_resume(p);
		p = server->peers; /* restart: a request that was read may have ended any peer */
	}
	if (has_waiting)
		look_again(server);
}

int requests_init(struct server *server)
{
	server->requests.timer = evtimer_new(server->base, on_timer, server);
	return server->requests.timer ? 0 : -ENOMEM;
}

void requests_done(struct server *server)
{
	if (server->requests.timer)
		event_free(server->requests.timer);
}

void requests_charge(struct peer *peer)
{
	struct server *server = peer->server;
	struct requests_user *user;

	if (peer->uid == 0 || peer->uid == geteuid() || peer->is_ended)
		return;
	user = find_user(&server->requests, peer->owner);
	user->left -= 1;
	if (user->left >= 0)
		return;
	peer->is_waiting = true;
	peer_pause(peer);
	if (!event_pending(server->requests.timer, EV_TIMEOUT, NULL))
		look_again(server);
}

/* SPDX-License-Identifier: MIT */
#include "collectord/loop/connections/peer_limits.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collectord/channel/channel.h"
#include "collectord/loop/connections/peer.h"
#include "collectord/loop/connections/state.h"
#include "collectord/service/log.h"
#include "collectord/loop/connections/timers.h"
#include "proto/base/clock.h"
#include "proto/base/limits.h"

/* Interval at which paused connections are checked. */
#define LOOK_MS 20u

static void fill(struct peer_bucket *bucket, double per_s, double burst)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (!bucket->last_ns)
		bucket->left = burst;
	else
		bucket->left += (double)(now_ns - bucket->last_ns) / 1e9 * per_s;
	bucket->last_ns = now_ns;
	if (bucket->left > burst)
		bucket->left = burst;
}

/* ---- connections ------------------------------------------------------------------------- */

bool peer_limits_connect(struct server *server, int fd)
{
	struct peer_bucket *bucket = &server->limits.connects;
	struct ucred ucred;
	socklen_t bytes = sizeof(ucred);

	fill(bucket, CONNECTS_PER_S_MAX, CONNECTS_BURST_MAX);
	if (bucket->left >= 1) {
		bucket->left -= 1;
		return true;
	}
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &ucred, &bytes) == 0)
		log_refusal(ucred.uid, ucred.pid, "it connects too often");
	return false;
}

bool peer_limits_is_silent(const struct peer *peer)
{
	return !peer->role && !peer->is_finishing && !peer->is_ended;
}

void peer_limits_make_way(struct server *server, const struct peer *newcomer)
{
	struct peer *oldest = NULL; /* the list is newest first */
	unsigned n = 0;

	if (!peer_limits_is_silent(newcomer))
		return;
	for (struct peer *p = server->peers; p && n <= UNGREETED_MAX; p = p->next) {
		if (!peer_limits_is_silent(p))
			continue;
		oldest = p;
		n++;
	}
	if (n > UNGREETED_MAX)
		peer_refuse(oldest, "too many connections that do not say what they are");
}

/* ---- requests ---------------------------------------------------------------------------- */

static void on_timer(evutil_socket_t fd, short what, void *data)
{
	struct server *server = data;
	struct peer_bucket *bucket = &server->limits.requests;
	bool has_waiting = false;

	(void)fd;
	(void)what;
	fill(bucket, REQUESTS_PER_S_MAX, REQUESTS_BURST_MAX);
	for (struct peer *p = server->peers; p;) {
		if (!p->is_waiting || bucket->left < 0) {
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
		timer_start(server->limits.timer, LOOK_MS);
}

int peer_limits_init(struct server *server)
{
	server->limits.timer = evtimer_new(server->base, on_timer, server);
	return server->limits.timer ? 0 : -ENOMEM;
}

void peer_limits_done(struct server *server)
{
	if (server->limits.timer)
		event_free(server->limits.timer);
}

void peer_limits_request(struct peer *peer)
{
	struct server *server = peer->server;
	struct peer_bucket *bucket = &server->limits.requests;

	if ((peer->uid == 0 && (peer->known & CHANNEL_PEER_OF_HOST)) || peer->uid == geteuid() ||
		peer->is_ended)
		return;
	fill(bucket, REQUESTS_PER_S_MAX, REQUESTS_BURST_MAX);
	bucket->left -= 1;
	if (bucket->left >= 0)
		return;
	peer->is_waiting = true;
	peer_pause(peer);
	if (!event_pending(server->limits.timer, EV_TIMEOUT, NULL))
		timer_start(server->limits.timer, LOOK_MS);
}

// SPDX-License-Identifier: MIT
#include "collectord/loop/connections/worker.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collectord/channel/seat.h"
#include "collectord/loop/connections/state.h"

int worker_tell(struct server *server, enum channel_kind kind, uint64_t number)
{
	struct channel_message message = {.kind = kind, .number = number};

	strcpy(message.name, server->container);
	return channel_send(server->seat->channel, &message, -1);
}

bool worker_is_reachable(const struct server *server)
{
	return !server->is_unreachable;
}

bool worker_has_watched_since(const struct server *server, uint64_t realtime_ns)
{
	const struct seat *seat = server->seat;

	return realtime_ns >= seat->since_realtime_ns && !seat->was_refused;
}

pid_t worker_pid(const struct server *server)
{
	return server->seat ? server->seat->supervisor : getpid();
}

const char *worker_container(const struct server *server, char ret[CONTAINER_NAME_BYTES])
{
	if (!server->seat || !container_is_tenant(server->seat->owner))
		return NULL;
	if (server->container[0])
		strcpy(ret, server->container);
	else
		snprintf(ret, CONTAINER_NAME_BYTES, "%u", (unsigned)server->seat->owner);
	return ret;
}

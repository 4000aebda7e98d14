/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Serves a tool that may see all tenants (root, group rtl). The worker of that tool's tenant sends
 * the request to every worker, itself included, over connections that the supervisor makes, and
 * merges the replies. The merged reply names each tenant whose worker did not answer in time. Only
 * the tool that asked waits. Loop thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/wire/msg.h"

struct channel_message;
struct peer;
struct server;

/* Sends @request, whose bytes are @data, to all workers. The reply to @peer follows later. */
void all_tenants_ask(
	struct peer *peer, const Rtl__Frame *request, const uint8_t *data, size_t bytes);

/* Called when @peer hangs up. */
void all_tenants_closed(struct peer *peer);

/*
 * Handles CHANNEL_ANSWERER and CHANNEL_NODE_ANSWERER, with @fd, which it takes over, and
 * CHANNEL_ANSWERERS_END.
 */
void all_tenants_take(struct server *server, const struct channel_message *message, int fd);

bool all_tenants_is_asking(const struct server *server);

/* Called when the server ends. */
void all_tenants_done(struct server *server);

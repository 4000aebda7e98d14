/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A tool that may see all tenants (root, group rtl) asks the worker of its own: that asks each
 * worker the same, itself too, over connections that the supervisor makes, and puts the answers
 * together. Who does not answer in time is named. Loop thread; nobody waits but who has asked.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/wire/msg.h"

struct channel_message;
struct peer;
struct server;

/* @request is the frame @data; answered later. */
void all_tenants_ask(
	struct peer *peer, const Rtl__Frame *request, const uint8_t *data, size_t bytes);

/* @peer hung up. */
void all_tenants_closed(struct peer *peer);

/* CHANNEL_ANSWERER, with @fd, which is taken over, and CHANNEL_ANSWERERS_END. */
void all_tenants_take(struct server *server, const struct channel_message *message, int fd);

bool all_tenants_is_asking(const struct server *server);

/* At the end of the server. */
void all_tenants_done(struct server *server);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Keeps recorders beyond the life of the collector (recorder protocol, "both die"). The process
 * that started the collector, systemd or rtl run, is the keeper: it holds a descriptor of each
 * recorder and passes them to the next collector, which resumes the processes that still live and
 * drains the recorders of those that do not. Only the collector writes the name under which a
 * recorder is kept; the name holds the owner's credentials as the kernel reported them. Loop
 * thread.
 */
#include <stdbool.h>
#include <stddef.h>

#include "collectord/service/listen.h"

struct instance;
struct instance_identity;
struct server;

/*
 * uid and pid of 10 digits each, start time of 20, token of 32, the dashes between them, and a NUL
 */
#define KEPT_NAME_BYTES (sizeof(KEPT_PREFIX) + 10 + 1 + 10 + 1 + 20 + 1 + 32)

/* Passes the recorder to the keeper. If the keeper is busy, kept_retry() tries again soon. */
void kept_put(struct instance *instance);
/* The recorder is stored, so the keeper may drop it. Retried in the same way. */
void kept_drop(struct server *server, const struct instance_identity *identity);
/* Sends again what the keeper was too busy to take. */
void kept_retry(struct server *server);
/* Called at the end: sends the remaining removals for the last time. */
void kept_done(struct server *server);

/* Fills in the whole identity except the boot id. Returns false if @name is none of ours. */
bool kept_parse_name(const char *name, struct instance_identity *ret);
/*
 * Has the keeper drop the recorder @name. If the keeper held it longer, its memory would stay in
 * use and the next collector would store it again.
 */
void kept_drop_name(struct server *server, const char *name);

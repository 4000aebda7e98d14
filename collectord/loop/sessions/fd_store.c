/* SPDX-License-Identifier: MIT */
#include "collectord/loop/sessions/fd_store.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectord/loop/sessions/instance.h"
#include "collectord/service/listen.h"
#include "collectord/service/log.h"
#include "collectord/service/notify.h"
#include "collectord/loop/connections/state.h"
#include "collectord/loop/sessions/session.h"
#include "collectord/loop/connections/timers.h"
#include "proto/base/limits.h"
#include "proto/base/list.h"
#include "proto/recorder/layout.h"

/* LISTEN_FDNAMES is passed to execve() as one string, which is limited to MAX_ARG_STRLEN. */
static_assert(KEPT_RECORDERS_MAX * KEPT_NAME_BYTES + sizeof("LISTEN_FDNAMES=listen") <= 128u << 10,
	"names of kept recorders");

#define TOKEN_DIGITS (2 * INSTANCE_TOKEN_BYTES)
#define RETRY_MS     20

/* The name of a recorder whose removal the keeper was too busy to take. */
struct kept_left {
	struct kept_left *next;
	char name[];
};

static void name_of(const struct instance_identity *id, char ret[KEPT_NAME_BYTES])
{
	int n = snprintf(ret, KEPT_NAME_BYTES, KEPT_PREFIX "%u-%d-%" PRIu64 "-", id->uid, id->pid,
		id->start_time);

	for (size_t i = 0; i < INSTANCE_TOKEN_BYTES; i++)
		n += snprintf(ret + n, KEPT_NAME_BYTES - (size_t)n, "%02x", id->token[i]);
}

bool kept_parse_name(const char *name, struct instance_identity *ret)
{
	char digits[TOKEN_DIGITS + 1], again[KEPT_NAME_BYTES];

	*ret = (struct instance_identity){0};
	if (sscanf(name, KEPT_PREFIX "%u-%d-%" SCNu64 "-%32[0-9a-f]", &ret->uid, &ret->pid,
		    &ret->start_time, digits) != 4 ||
		strlen(digits) != TOKEN_DIGITS)
		return false;
	for (size_t i = 0; i < INSTANCE_TOKEN_BYTES; i++) {
		const char pair[3] = {digits[2 * i], digits[2 * i + 1], 0};

		ret->token[i] = (uint8_t)strtoul(pair, NULL, 16);
	}
	name_of(ret, again);
	return !strcmp(name, again);
}

void kept_put(struct instance *instance)
{
	struct server *server = instance->session->server;
	char name[KEPT_NAME_BYTES];
	int r;

	if (instance->is_kept || instance->memfd < 0)
		return;
	name_of(&instance->identity, name);
	r = notify_keep(instance->memfd, name);
	instance->is_kept = r == 0;
	if (r == -EAGAIN)
		timer_start(server->keep_retry, RETRY_MS);
	if (r == 0 || r == -EAGAIN || r == -ENOTCONN || server->has_said_unkept)
		return;
	server->has_said_unkept = true;
	log_warning("recorders are not kept beyond a crash of ours: %s", strerror(-r));
}

/* Sends as many removals as the keeper takes. If there is no keeper, no recorder is kept either. */
static void drop_left(struct server *server)
{
	while (server->kept_left && notify_drop(server->kept_left->name) != -EAGAIN) {
		struct kept_left *next = server->kept_left->next;

		free(server->kept_left);
		server->kept_left = next;
		server->n_kept_left--;
	}
}

void kept_drop_name(struct server *server, const char *name)
{
	struct kept_left *left;

	if (notify_drop(name) != -EAGAIN || server->n_kept_left >= KEPT_RECORDERS_MAX)
		return;
	left = malloc(sizeof(*left) + strlen(name) + 1);
	if (!left)
		return;
	strcpy(left->name, name);
	left->next = server->kept_left;
	server->kept_left = left;
	server->n_kept_left++;
	timer_start(server->keep_retry, RETRY_MS);
}

void kept_retry(struct server *server)
{
	drop_left(server);
	if (server->kept_left)
		timer_start(server->keep_retry, RETRY_MS);
	for (struct session *s = server->sessions; s; s = s->next)
		for (struct instance *i = s->instances; i; i = i->next)
			if (instance_is_live(i))
				kept_put(i);
}

void kept_drop(struct server *server, const struct instance_identity *identity)
{
	char name[KEPT_NAME_BYTES];

	name_of(identity, name);
	kept_drop_name(server, name);
}

void kept_done(struct server *server)
{
	drop_left(server);
	while (server->kept_left)
		free(LIST_POP(server->kept_left));
}

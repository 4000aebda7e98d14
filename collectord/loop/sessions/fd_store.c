/* SPDX-License-Identifier: MIT */
#include "collectord/loop/sessions/fd_store.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collectord/loop/sessions/admission.h"
#include "collectord/loop/sessions/exit_status.h"
#include "collectord/loop/sessions/instance.h"
#include "collectord/loop/sessions/instances.h"
#include "collectord/service/listen.h"
#include "collectord/service/log.h"
#include "collectord/service/notify.h"
#include "collectord/loop/connections/state.h"
#include "collectord/loop/sessions/session.h"
#include "proto/base/cleanup.h"
#include "proto/wire/frame.h"
#include "proto/base/limits.h"
#include "proto/recorder/layout.h"

/* LISTEN_FDNAMES is passed to execve() as one string, which is limited to MAX_ARG_STRLEN. */
static_assert(KEPT_RECORDERS_MAX * KEPT_NAME_BYTES + sizeof("LISTEN_FDNAMES=listen") <= 128u << 10,
	"names of kept recorders");

#define TOKEN_DIGITS  (2 * INSTANCE_TOKEN_BYTES)
#define RETRY_MS      20
/* Waits up to a second for memory, before the collector accepts any connection. */
#define MEMORY_TRIES  100
#define MEMORY_TRY_NS 10000000

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

/* Fills in the whole identity except the boot id. */
static bool parse_name(const char *name, struct instance_identity *ret)
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

static void retry_soon(struct server *server)
{
	const struct timeval soon = {.tv_usec = RETRY_MS * 1000};

	event_add(server->keep_retry, &soon);
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
		retry_soon(server);
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

/*
 * Has the keeper drop the recorder @name. If the keeper held it longer, its memory would stay in
 * use and the next collector would store it again.
 */
static void drop(struct server *server, const char *name)
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
	retry_soon(server);
}

void kept_retry(struct server *server)
{
	drop_left(server);
	if (server->kept_left)
		retry_soon(server);
	for (struct session *s = server->sessions; s; s = s->next)
		for (struct instance *i = s->instances; i; i = i->next)
			if (instance_is_live(i))
				kept_put(i);
}

void kept_drop(struct server *server, const struct instance_identity *identity)
{
	char name[KEPT_NAME_BYTES];

	name_of(identity, name);
	drop(server, name);
}

void kept_done(struct server *server)
{
	drop_left(server);
	while (server->kept_left) {
		struct kept_left *next = server->kept_left->next;

		free(server->kept_left);
		server->kept_left = next;
	}
}

/*
 * Reads the Hello frame from the recorder, without its length prefix. -EBADMSG if there is none;
 * -ENOMEM.
 */
static int read_hello(int fd, size_t *ret_bytes, uint8_t **ret)
{
	CLEANUP(free_p) uint8_t *frame = NULL;
	struct recorder_header header;
	uint64_t bytes;

	if (pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header))
		return -EBADMSG;
	bytes = header.hello_bytes;
	if (bytes <= FRAME_PREFIX_BYTES || bytes > RECORDER_HELLO_BYTES ||
		header.hello.offset > RECORDER_BYTES_MAX)
		return -EBADMSG;
	bytes -= FRAME_PREFIX_BYTES;
	frame = malloc(bytes);
	if (!frame)
		return -ENOMEM;
	if (pread(fd, frame, bytes, (off_t)header.hello.offset + FRAME_PREFIX_BYTES) !=
		(ssize_t)bytes)
		return -EBADMSG;
	*ret_bytes = bytes;
	*ret = TAKE(frame);
	return 0;
}

static const char no_memory[] = "no memory";

/* Returns NULL if the recorder was taken over, else the reason why not. */
static const char *resume(struct server *server, struct listen_kept *kept)
{
	struct instance_identity identity;
	CLEANUP(free_p) uint8_t *frame = NULL;
	CLEANUP(close_p) int pidfd = -1;
	struct admission admission = {.identity = &identity, .memfd = kept->fd, .pidfd = -1};
	struct instance *instance;
	Rtl__Frame *message;
	const char *why;
	bool is_alive;
	int r;

	if (!parse_name(kept->name, &identity))
		return "its name is none of ours";
	r = read_hello(kept->fd, &admission.bytes, &frame);
	if (r == 0)
		r = msg_unpack(&server->arena, frame, admission.bytes, &message);
	if (r == -ENOMEM)
		return no_memory;
	if (r < 0 || message->body_case != RTL__FRAME__BODY_HELLO)
		return "it holds no Hello";
	admission.frame = frame;
	admission.hello = message->hello;
	if (!admission.hello->has_token || admission.hello->token.len != INSTANCE_TOKEN_BYTES ||
		!admission.hello->has_boot_id ||
		admission.hello->boot_id.len != INSTANCE_TOKEN_BYTES ||
		admission.hello->n_gpus > RECORDER_GPUS)
		return "its Hello lacks its token or boot id";
	why = admit_check_recorder(kept->fd, admission.hello);
	if (why)
		return why;
	memcpy(identity.boot_id, admission.hello->boot_id.data, INSTANCE_TOKEN_BYTES);
	if (instances_find(server->instances, &identity))
		return "its process is here already";
	is_alive = exit_status_find_living(identity.pid, identity.start_time, &pidfd);
	admission.pidfd = pidfd;
	r = admit(server, &admission, &instance);
	if (r < 0)
		return r == -ENOMEM ? no_memory : strerror(-r);
	kept->fd = -1;
	(void)TAKE_FD(pidfd); /* the instance owns it now */
	instance->was_kept = true;
	if (!is_alive)
		instance_end(instance, INSTANCE_END_UNKNOWN);
	return NULL;
}

void kept_resume(struct server *server, struct listen_sockets *sockets)
{
	for (size_t i = 0; i < sockets->n_kept; i++) {
		const char *why = resume(server, &sockets->kept[i]);

		/*
		 * If the recorder waited, its process could be found dead and be taken for one
		 * without a recorder, so we retry here and now.
		 */
		for (int tries = 1; why == no_memory && tries < MEMORY_TRIES; tries++) {
			nanosleep(&(struct timespec){.tv_nsec = MEMORY_TRY_NS}, NULL);
			why = resume(server, &sockets->kept[i]);
		}
		if (!why)
			continue;
		log_warning("a kept recorder is let go: %s", why);
		drop(server, sockets->kept[i].name);
	}
}

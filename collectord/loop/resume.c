// SPDX-License-Identifier: MIT
#include "collectord/loop/resume.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collectord/loop/connections/state.h"
#include "collectord/loop/sessions/admission.h"
#include "collectord/loop/sessions/exit_status.h"
#include "collectord/loop/sessions/fd_store.h"
#include "collectord/loop/sessions/instance.h"
#include "collectord/loop/sessions/instances.h"
#include "collectord/service/listen.h"
#include "collectord/service/log.h"
#include "proto/base/cleanup.h"
#include "proto/base/limits.h"
#include "proto/recorder/layout.h"
#include "proto/wire/frame.h"

/* Waits up to a second for memory, before the collector accepts any connection. */
#define MEMORY_TRIES  100
#define MEMORY_TRY_NS 10000000

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

	if (!kept_parse_name(kept->name, &identity))
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
		kept_drop_name(server, sockets->kept[i].name);
	}
}

/* SPDX-License-Identifier: MIT */
#include "collectord/loop/shim_peer.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "collectord/loop/sessions/access.h"
#include "collectord/loop/sessions/admission.h"
#include "collectord/loop/sessions/detached.h"
#include "collectord/loop/sessions/exit_status.h"
#include "collectord/loop/sessions/instance.h"
#include "collectord/loop/sessions/instances.h"
#include "collectord/service/log.h"
#include "collectord/loop/connections/peer.h"
#include "collectord/loop/connections/state.h"
#include "collectord/loop/sessions/session.h"
#include "proto/base/cleanup.h"
#include "proto/base/limits.h"

static void shim_frames(struct peer *peer, const uint8_t *frames, size_t bytes)
{
	if (peer->role_data)
		instance_take_frames(peer->role_data, frames, bytes);
}

static size_t shim_room(struct peer *peer)
{
	return peer->role_data ? instance_room(peer->role_data) : 0;
}

static void shim_closed(struct peer *peer)
{
	struct instance *instance = peer->role_data;

	/* A newer connection of the same process may have replaced this one. */
	if (instance && instance->peer == peer)
		instance_detach_peer(instance);
	peer->role_data = NULL;
}

static const struct peer_role shim_role = {
	.frames = shim_frames, .room = shim_room, .closed = shim_closed};

/* Validates the message itself. Returns NULL if it is valid, else the reason why not. */
static const char *check_hello(const struct peer *peer, const Rtl__Hello *hello)
{
	if (!peer->pid)
		return access_no_pid;
	if (peer->n_passed != 1)
		return "Hello must carry exactly one file descriptor, the recorder";
	if (!hello->has_token || hello->token.len != INSTANCE_TOKEN_BYTES || !hello->has_boot_id ||
		hello->boot_id.len != INSTANCE_TOKEN_BYTES)
		return "Hello lacks its token or boot id";
	if (hello->n_gpus > RECORDER_GPUS)
		return "Hello names too many GPUs";
	return admit_check_recorder(peer->passed_fd, hello);
}

/*
 * Takes pid and start time from the kernel. The start time in the Hello counts only if /proc does
 * not show it (hidepid, or the process is gone).
 */
static void identify(
	const struct peer *peer, const Rtl__Hello *hello, struct instance_identity *ret)
{
	uint64_t start_time = exit_status_start_time(peer->pid);

	*ret = (struct instance_identity){.uid = peer->uid, .pid = peer->pid};
	ret->start_time = start_time ? start_time : hello->start_time;
	memcpy(ret->token, hello->token.data, INSTANCE_TOKEN_BYTES);
	memcpy(ret->boot_id, hello->boot_id.data, INSTANCE_TOKEN_BYTES);
}

/* Returns -1 if there is no pidfd: the kernel has none, or the process is gone. */
static int take_pidfd(struct peer *peer)
{
	int fd;

	if (peer->pidfd >= 0)
		return TAKE_FD(peer->pidfd);
	fd = exit_status_open_pidfd(peer->pid);
	return fd >= 0 ? fd : -1;
}

/* Takes the recorder of @peer on success. */
static int open_instance(struct peer *peer, const Rtl__Hello *hello,
	const struct instance_identity *identity, const uint8_t *frame, size_t bytes,
	struct instance **ret)
{
	CLEANUP(close_p) int pidfd = take_pidfd(peer);
	const struct admission admission = {
		.identity = identity,
		.hello = hello,
		.frame = frame,
		.bytes = bytes,
		.memfd = peer->passed_fd,
		.pidfd = pidfd,
	};
	int r;

	/*
	 * This limit does not apply to kept recorders, because no other process has their records.
	 */
	if (session_has_many_unread(peer->server))
		return -ENFILE;
	r = admit(peer->server, &admission, ret);
	if (r < 0)
		return r;
	peer->passed_fd = -1;
	(void)TAKE_FD(pidfd); /* the instance owns it now */
	return 0;
}

static int adopt(struct peer *peer, struct instance *instance, const uint8_t *frame, size_t bytes)
{
	int r = instance_adopt(instance, peer->passed_fd, frame, bytes);

	if (r == 0)
		peer->passed_fd = -1;
	return r;
}

static int find_or_open(struct peer *peer, const Rtl__Hello *hello, const uint8_t *frame,
	size_t bytes, struct instance **ret)
{
	struct instance_identity identity;

	identify(peer, hello, &identity);
	*ret = instances_find(peer->server->instances, &identity);
	if (*ret && !instance_is_live(*ret))
		return -ESTALE;
	if (!*ret && detached_has(peer->server->detached, &identity))
		return -ESTALE;
	session_end_execed(peer->server, &identity);
	if (*ret)
		return (*ret)->store ? 0 : adopt(peer, *ret, frame, bytes);
	return open_instance(peer, hello, &identity, frame, bytes, ret);
}

static const char *explain(int error)
{
	switch (error) {
	case -EDQUOT:
		return "too many processes or sessions of this user are open";
	case -EUSERS:
		return "the open sessions of this user have had too many processes";
	case -ENFILE:
		return "too many processes of this user have ended and are not stored yet";
	case -ESTALE:
		return "the session of this process is closed, or it was taken for ended";
	case -ESHUTDOWN:
		return "the collector is shutting down";
	default:
		return strerror(-error);
	}
}

void shim_peer_put_off(struct peer *peer)
{
	log_refusal(peer->uid, peer->pid, peer_no_memory);
	peer_close(peer);
}

/* Handles a Hello without a recorder, which is the only frame of such a connection. */
static void take_unrecorded(struct peer *peer, const Rtl__Hello *hello)
{
	struct instance_identity identity = {.uid = peer->uid, .pid = peer->pid};
	int r;

	if (!peer->pid || peer->n_passed) {
		peer_refuse(peer, "%s",
			peer->pid ? "Hello has a recorder, and says that it has none"
				  : access_no_pid);
		return;
	}
	/* This process waits for no answer, so it may be gone. */
	identity.start_time = exit_status_start_time(peer->pid);
	if (!identity.start_time)
		identity.start_time = hello->start_time;
	r = admit_unrecorded(peer->server, &identity, hello);
	log_peer("uid %u pid %d has no recorder: %s%s%s", peer->uid, (int)peer->pid,
		hello->unrecorded <= INT_MAX ? strerror((int)hello->unrecorded) : "?",
		r < 0 ? "; its session does not say so: " : "", r < 0 ? explain(r) : "");
	peer_close(peer);
}

void shim_peer_greet(struct peer *peer, const Rtl__Hello *hello, const uint8_t *frame, size_t bytes)
{
	struct instance *instance = NULL;
	const char *why;
	int r;

	if (!msg_common_version((int)hello->has_version_min, hello->version_min,
		    (int)hello->has_version_max, hello->version_max)) {
		peer_refuse(peer, "the shim speaks protocol %u-%u, this collector %u-%u",
			hello->version_min, hello->version_max, PROTO_VERSION_MIN,
			PROTO_VERSION_MAX);
		return;
	}
	if (hello->has_unrecorded) {
		take_unrecorded(peer, hello);
		return;
	}
	why = check_hello(peer, hello);
	if (why) {
		peer_refuse(peer, "%s", why);
		return;
	}
	r = find_or_open(peer, hello, frame, bytes, &instance);
	if (r == -ENOMEM) {
		shim_peer_put_off(peer);
		return;
	}
	if (r < 0) {
		peer_refuse(peer, "%s", explain(r));
		return;
	}
	control_introduce(instance, hello);
	peer_greeted(peer, &shim_role, instance, FRAME_BYTES_MAX);
	log_debug("pid %d has said Hello", (int)peer->pid);
	if (instance_attach(instance, peer) < 0)
		peer_close(peer);
}

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Admits a process to its session: checks its recorder, finds or opens the session, and makes an
 * instance, which is watched by its pidfd or in /proc. The same code serves a shim that connects
 * and a recorder that outlived both its process and an earlier collector. Loop thread.
 */
#include <stddef.h>
#include <stdint.h>

#include "proto/wire/msg.h"

struct instance;
struct instance_identity;
struct server;

struct admission {
	const struct instance_identity *identity; /* as reported by the kernel */
	const Rtl__Hello *hello;
	const uint8_t *frame; /* the Hello frame without its length prefix; copied */
	size_t bytes;
	int memfd; /* already checked; the instance takes both descriptors on success only */
	int pidfd; /* -1: there is no pidfd */
};

/*
 * Checks that the recorder is a memfd that can neither shrink nor grow, with the size and the
 * process token that @hello states. Returns NULL if it is, else the reason why not.
 */
const char *admit_check_recorder(int fd, const Rtl__Hello *hello);

/*
 * Returns 0; -EDQUOT if the user has too many live processes or sessions; -EUSERS if the open
 * sessions of the user have had too many processes; -ESHUTDOWN if the collector admits no more
 * processes; -ENOMEM.
 */
int admit(struct server *server, const struct admission *admission, struct instance **ret);

/*
 * Admits a process that has no recorder: its session counts the process as not recorded. Errors as
 * admit(), without -EUSERS.
 */
int admit_unrecorded(
	struct server *server, const struct instance_identity *identity, const Rtl__Hello *hello);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * How a process gets into its session: its recorder is checked, its session found or opened, and
 * an instance made that the kernel's word watches. The same for a shim that connects and for a
 * recorder that outlived both its process and an earlier life of the collector. Loop thread.
 */
#include <stddef.h>
#include <stdint.h>

#include "proto/wire/msg.h"

struct instance;
struct instance_identity;
struct server;

struct admission {
	const struct instance_identity *identity; /* the kernel's word */
	const Rtl__Hello *hello;
	const uint8_t *frame; /* the Hello's frame without its prefix; copied */
	size_t bytes;
	int memfd; /* checked; both become the instance's on success only */
	int pidfd; /* -1: there is none */
};

/* Is it a sealed memfd? Waits for nobody, whatever it is. NULL: it is; else why not. */
const char *admit_check_memfd(int fd);

/*
 * The recorder must be a memfd that can neither shrink nor grow any more, of the size and the
 * process that @hello says. NULL: it is; else why not.
 */
const char *admit_check_recorder(int fd, const Rtl__Hello *hello);

/*
 * 0; -EDQUOT: too many processes or sessions of that user; -ESHUTDOWN: nobody is taken any more;
 * -ENOMEM.
 */
int admit(struct server *server, const struct admission *admission, struct instance **ret);

/* One that has no recorder: its session says that it is missing. As admit(). */
int admit_unrecorded(struct server *server, const struct instance_identity *identity,
	const Rtl__Hello *hello);

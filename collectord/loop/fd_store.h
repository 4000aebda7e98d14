/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Recorders kept beyond the collector's own life (recorder protocol, "both die"): whoever started
 * it, systemd or rtl run, holds a descriptor of each and hands them to the next life, which goes
 * on with the processes that live and drains those that do not. The name under which one is kept
 * is written by us alone and says whose it is by the kernel's word. Loop thread.
 */
#include <stddef.h>

#include "collectord/service/listen.h"

struct instance;
struct instance_identity;
struct listen_sockets;
struct server;

/* uid and pid of 10 digits, start time of 20, token of 32, their dashes, and a NUL. */
#define KEPT_NAME_BYTES (sizeof(KEPT_PREFIX) + 10 + 1 + 10 + 1 + 20 + 1 + 32)

/* Until it is taken: tried again soon where whoever keeps it is busy. */
void kept_put(struct instance *instance);
/* It is stored: nobody needs it any more. Likewise. */
void kept_drop(struct server *server, const struct instance_identity *identity);
/* What was not taken, or let go, yet. */
void kept_retry(struct server *server);
/* At the end: says for the last time what is to be let go. */
void kept_done(struct server *server);

/*
 * At the start, before anybody is let in and after the sessions that were left open are known:
 * takes the recorders out of @sockets. What is none of ours, or cannot be taken, is dropped.
 */
void kept_resume(struct server *server, struct listen_sockets *sockets);

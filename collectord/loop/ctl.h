/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * rtl ctl: status and flush, and start and stop, which are answered when every process that
 * they are about has said so, or after CONTROL_ANSWER_MS with how many have not. Loop thread.
 */
#include <stdbool.h>

#include "proto/wire/rtl.pb-c.h"

struct peer;
struct server;
struct session;

void ctl_answer(struct peer *peer, const Rtl__CtlRequest *request);

/* The tool hung up; what it waits for is forgotten. */
void ctl_closed(struct peer *peer);

/* A process has said how it is, or has gone: perhaps somebody waited for that. */
void ctl_check(struct server *server);

/* @name is its name or its launcher's key. */

/* At the end of the server. */
void ctl_done(struct server *server);

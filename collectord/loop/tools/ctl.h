/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Answers rtl ctl: status, flush, start and stop; and rtl rm and rtl keep. Start and stop are
 * answered when every selected process has confirmed, or after CONTROL_ANSWER_MS with the number of
 * processes that have not. Loop thread.
 */
#include <stdbool.h>

#include "proto/wire/rtl.pb-c.h"

struct peer;
struct server;
struct session;

/* True if @frame is about a session of the asker alone, whatever else it may see. */
bool ctl_is_of_owner(const Rtl__Frame *frame);

void ctl_answer(struct peer *peer, const Rtl__CtlRequest *request);

/* The tool has hung up: its pending request gets no answer. */
void ctl_closed(struct peer *peer);

/*
 * Called when a process has reported its state, or has gone: completes the requests that waited for
 * it.
 */
void ctl_check(struct server *server);

/* Called when the server ends. */
void ctl_done(struct server *server);

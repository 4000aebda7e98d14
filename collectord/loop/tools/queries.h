/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Answers rtl stat, ls and ctl. Except for some requests of ctl (ctl.h), each is answered at once
 * from memory, with what the store last committed and within what the asking user may see. Loop
 * thread.
 */
#include <stdint.h>

#include "proto/wire/msg.h"

struct peer;

/* Handles a peer whose first frame was a request; @data are the bytes of that frame. */
void tool_greet(struct peer *peer, const Rtl__Frame *frame, const uint8_t *data, size_t bytes);

/* True if @frame is one of the requests answered here. */
int tool_is_request(const Rtl__Frame *frame);

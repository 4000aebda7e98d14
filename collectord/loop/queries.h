/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * rtl stat, ls and ctl: each request but some of ctl's (ctl.h) is answered at once from memory
 * (what the store last committed), within what the asker may see. Loop thread.
 */
#include <stdint.h>

#include "proto/wire/msg.h"

struct peer;

/* The first frame of @peer was a request, of these bytes. */
void tool_greet(struct peer *peer, const Rtl__Frame *frame, const uint8_t *data, size_t bytes);

/* True when @frame is one of the requests answered here. */
int tool_is_request(const Rtl__Frame *frame);

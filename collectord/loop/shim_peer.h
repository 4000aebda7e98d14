/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The connection of a shim: its Hello is checked (version, recorder, identity by the kernel's
 * word), then its frames go to the process undecoded. Loop thread.
 */
#include <stddef.h>
#include <stdint.h>

#include "proto/wire/msg.h"

struct peer;

/* The first frame of @peer was @hello, of these bytes. Welcomes it later, or refuses it. */
void shim_peer_greet(
	struct peer *peer, const Rtl__Hello *hello, const uint8_t *frame, size_t bytes);

/* There is no memory for it now: it comes again when hung up on, and would not after a refusal. */
void shim_peer_put_off(struct peer *peer);

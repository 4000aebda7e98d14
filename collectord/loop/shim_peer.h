/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The connection of a shim: checks its Hello (version, recorder, and identity as the kernel reports
 * it), then passes its frames undecoded to the instance. Loop thread.
 */
#include <stddef.h>
#include <stdint.h>

#include "proto/wire/msg.h"

struct peer;

/*
 * Handles a peer whose first frame was @hello; @frame are its bytes. Welcomes it later, or refuses
 * it.
 */
void shim_peer_greet(
	struct peer *peer, const Rtl__Hello *hello, const uint8_t *frame, size_t bytes);

/*
 * Closes the connection when memory runs out: the shim reconnects after a hang-up, but not after a
 * refusal.
 */
void shim_peer_put_off(struct peer *peer);

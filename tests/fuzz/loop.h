/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The collector's loop on a socket of its own, one turn at a time; behind it the double of
 * tests/unit/collectord/loop (FUZZ_FAKE_STORE: fast), or the store and its databases. New for each
 * input.
 */
#include <stddef.h>
#include <stdint.h>

/* Binds; once a process. */
void loop_init(void);
void loop_start(void);
void loop_stop(void);

/* Runs the events that are pending. */
void loop_turn(void);
/* Runs the loop until the store has answered all requests. */
void loop_settle(void);

/* Connected; close it with close(). */
int loop_connect(void);
/* Never waits: a peer that sends more than is read is not what is tried here. @memfd: with it; -1.
 */
void loop_send(int fd, const uint8_t *bytes, size_t n, int memfd);
/* Sends the frame with its length in front. */
void loop_send_frame(int fd, const uint8_t *frame, size_t n, int memfd);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Processes of the store's harness that end with a recorder made by hand, and what the file then
 * says of them. Tests; asserts through cmocka.
 */
#include "tests/unit/collectord/store/harness.h"
#include "tests/unit/collectord/store/recorder.h"

/* Ends h->process with recorder @r, which is freed. */
void end_with(struct harness *h, struct hand_recorder *r, enum store_ended how);

/* Numbers of rows in rocpd_op and rtl_outstanding, a column of rtl_account, a count of rtl_loss
 * (NULL: -1). */
int64_t rows(struct harness *h);
int64_t outstanding(struct harness *h);
int64_t account(struct harness *h, const char *column);
int64_t loss(struct harness *h, const char *reason);

/* Frame 1 (ten rows of queue 0) over the socket. */
void send_first(struct harness *h);
/* Publishes a cell of @r with @n dispatches from @seq on. */
void publish(struct hand_recorder *r, uint64_t number, uint64_t seq, uint32_t n);

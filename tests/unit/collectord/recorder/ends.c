// SPDX-License-Identifier: MIT
#include "tests/unit/collectord/recorder/ends.h"

#include <stdio.h>
#include <stdlib.h>

/* Ends h->process with recorder @r, which is freed. */
void end_with(struct harness *h, struct hand_recorder *r, enum store_ended how)
{
	int fd = hand_recorder_memfd(r);

	free(r);
	assert_int_equal(store_process_end(h->process, fd, how, 137), 0);
	harness_wait(h, STORE_PROCESS_ENDED);
	harness_check_books(h->path);
}

int64_t rows(struct harness *h)
{
	return sql_number(h->path, "SELECT count(*) FROM rocpd_op");
}

int64_t outstanding(struct harness *h)
{
	return sql_number(h->path, "SELECT count(*) FROM rtl_outstanding");
}

int64_t account(struct harness *h, const char *column)
{
	char sql[96];

	snprintf(sql, sizeof(sql), "SELECT coalesce(sum(%s), 0) FROM rtl_account", column);
	return sql_number(h->path, sql);
}

int64_t loss(struct harness *h, const char *reason)
{
	char sql[128];

	snprintf(sql, sizeof(sql),
		"SELECT coalesce(sum(coalesce(count, -1)), 0) FROM rtl_loss WHERE reason = '%s'",
		reason);
	return sql_number(h->path, sql);
}

/* Frame 1 (ten rows of queue 0) over the socket. */
void send_first(struct harness *h)
{
	struct frames f = {0};

	peer_add_defines(&f);
	peer_add_anchors(&f, 1000000);
	peer_add_dispatches(&f, 1, 1, 0, 10);
	harness_send(h, &f);
	harness_wait_commit(h, 1);
}

void publish(struct hand_recorder *r, uint64_t number, uint64_t seq, uint32_t n)
{
	struct frames f = {0};

	peer_add_dispatches(&f, number, 1, seq, n);
	hand_recorder_cell(r, number, &f, n);
}

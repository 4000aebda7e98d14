/* SPDX-License-Identifier: MIT */
#pragma once
/* What a worker was given by the supervisor: whose it is, and how it is reached. */
#include <stdbool.h>
#include <sys/types.h>

#include "collectord/channel/ledger.h"

struct seat {
	uid_t owner; /* its tenant */
	int channel; /* to the supervisor */
	int door;    /* connections of the tenant come out of it */
	int reserve; /* the file of all workers that is given up on a full disk; -1: none */
	uint64_t since_realtime_ns; /* when the supervisor began */
	bool was_refused; /* connections of the tenant were closed since a worker of it was there */
	pid_t supervisor;
	struct ledger *ledger;
	struct ledger_tenant *page; /* of its own */
};

/* SPDX-License-Identifier: MIT */
#pragma once
/* What the supervisor gives a worker: its tenant, and its connections to the other processes. */
#include <stdbool.h>
#include <sys/types.h>

#include "collectord/channel/ledger.h"

struct seat {
	uid_t owner; /* its tenant */
	int channel; /* to the supervisor */
	int door;    /* connections of the tenant arrive through it */
	int reserve; /* the file that all workers share and give up on a full disk; -1: none */
	uint64_t since_realtime_ns; /* when the supervisor started */
	bool was_refused; /* connections of the tenant were closed since its last worker ended */
	pid_t supervisor;
	struct ledger_pages *ledger;
	struct ledger_tenant *page; /* the page of its tenant */
};

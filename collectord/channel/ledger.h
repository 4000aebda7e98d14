/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Figures that the workers of all tenants share: memory that the supervisor shares with each
 * process that it forks. Only the worker of a tenant writes its page (the supervisor clears it when
 * the worker has died). The page stays when the worker leaves, because it holds the size of the
 * closed sessions. Any thread.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

/* Number of tenants of a node that have something stored there, or a worker. */
#define LEDGER_TENANTS_MAX 4096u

struct ledger_tenant {
	_Atomic uint64_t beat_ns;      /* CLOCK_MONOTONIC of the last sign of life of its loop
					* and store */
	_Atomic uint64_t closed_bytes; /* size of its databases of closed sessions ... */
	_Atomic uint64_t open_bytes;   /* ... and of the other ones */
	_Atomic uint32_t owner;	       /* subuids_owner() + 1; 0: not in use */
	_Atomic uint32_t closed;       /* number of databases of closed sessions */
	_Atomic uint32_t sessions;     /* open sessions */
	_Atomic uint32_t processes;    /* live processes */
	_Atomic uint32_t connections;
	uint32_t spare;
};

struct ledger_pages {
	struct ledger_tenant tenant[LEDGER_TENANTS_MAX];
};

/* Shared with the processes that this process forks later. NULL: out of memory. */
struct ledger_pages *ledger_new(void);
struct ledger_pages *ledger_free(struct ledger_pages *ledger);

/*
 * Returns the page of @owner, a new one if it has none. NULL: there are too many. Called by the
 * supervisor only.
 */
struct ledger_tenant *ledger_find(struct ledger_pages *ledger, uid_t owner);

/*
 * Gives the page of a tenant that has neither a worker nor closed sessions to @owner. Called by the
 * supervisor only.
 */
void ledger_give(struct ledger_tenant *tenant, uid_t owner);

struct ledger_totals {
	uint32_t sessions;
	uint32_t processes;
	uint32_t connections;
};
struct ledger_totals ledger_totals(const struct ledger_pages *ledger);

/* Clears the live figures, when the worker of the tenant has ended. */
void ledger_clear_live(struct ledger_tenant *tenant);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What the workers of all tenants tell each other: memory that the supervisor shares with each
 * process that it forks. A tenant's page is written by its worker alone (and cleared by the
 * supervisor when that has died); it stays when the worker leaves, for what its closed sessions
 * take. Any thread.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

/* Users of a node that have ever stored something there. */
#define LEDGER_TENANTS_MAX 4096u

struct ledger_tenant {
	_Atomic uint64_t beat_ns;      /* CLOCK_MONOTONIC: when its loop and its store went on */
	_Atomic uint64_t closed_bytes; /* what its databases take, of closed sessions ... */
	_Atomic uint64_t open_bytes;   /* ... and of the others */
	_Atomic uint32_t owner;	       /* subuids_owner() + 1; 0: not in use */
	_Atomic uint32_t closed;       /* databases of closed sessions */
	_Atomic uint32_t sessions;     /* that are open */
	_Atomic uint32_t processes;    /* that live */
	_Atomic uint32_t connections;
	uint32_t spare;
};

struct ledger {
	struct ledger_tenant tenant[LEDGER_TENANTS_MAX];
};

/* Shared with whom this process forks from now on. NULL: no memory. */
struct ledger *ledger_new(void);
struct ledger *ledger_free(struct ledger *ledger);

/* The page of @owner, a new one where it has none. NULL: there are too many. Supervisor. */
struct ledger_tenant *ledger_find(struct ledger *ledger, uid_t owner);

struct ledger_totals {
	uint32_t sessions;
	uint32_t processes;
	uint32_t connections;
};
struct ledger_totals ledger_totals(const struct ledger *ledger);

/* Its worker has ended. */
void ledger_clear_live(struct ledger_tenant *tenant);

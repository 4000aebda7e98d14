/* SPDX-License-Identifier: MIT */
#include "collectord/channel/ledger.h"

#include <stddef.h>
#include <sys/mman.h>

struct ledger_pages *ledger_new(void)
{
	void *at = mmap(NULL, sizeof(struct ledger_pages), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

struct ledger_pages *ledger_free(struct ledger_pages *ledger)
{
	if (ledger)
		(void)munmap(ledger, sizeof(*ledger));
	return NULL;
}

struct ledger_tenant *ledger_find(struct ledger_pages *ledger, uid_t owner)
{
	for (struct ledger_tenant *t = ledger->tenant; t < ledger->tenant + LEDGER_TENANTS_MAX;
		t++) {
		uint32_t is = atomic_load(&t->owner);

		if (is == (uint32_t)owner + 1)
			return t;
		if (is)
			continue;
		atomic_store(&t->owner, (uint32_t)owner + 1);
		return t;
	}
	return NULL;
}

void ledger_give(struct ledger_tenant *tenant, uid_t owner)
{
	ledger_clear_live(tenant);
	atomic_store(&tenant->closed_bytes, 0);
	atomic_store(&tenant->closed, 0);
	atomic_store(&tenant->owner, (uint32_t)owner + 1);
}

/* Pages are assigned from the front, so the first free one ends the list. */
struct ledger_totals ledger_totals(const struct ledger_pages *ledger)
{
	struct ledger_totals totals = {0};

	for (const struct ledger_tenant *t = ledger->tenant;
		t < ledger->tenant + LEDGER_TENANTS_MAX && atomic_load(&t->owner); t++) {
		totals.sessions += atomic_load(&t->sessions);
		totals.processes += atomic_load(&t->processes);
		totals.connections += atomic_load(&t->connections);
	}
	return totals;
}

void ledger_clear_live(struct ledger_tenant *tenant)
{
	atomic_store(&tenant->sessions, 0);
	atomic_store(&tenant->processes, 0);
	atomic_store(&tenant->connections, 0);
	atomic_store(&tenant->open_bytes, 0);
}

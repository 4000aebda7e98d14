/* SPDX-License-Identifier: MIT */
#include "collectord/loop/neighbours.h"

#include <stdbool.h>
#include <string.h>

#include "collectord/channel/channel.h"
#include "collectord/channel/seat.h"
#include "collectord/store/store.h"

static void tell(void *data, uint64_t closed_bytes, unsigned closed, uint64_t open_bytes)
{
	struct ledger_tenant *page = ((const struct seat *)data)->page;

	atomic_store(&page->closed_bytes, closed_bytes);
	atomic_store(&page->closed, closed);
	atomic_store(&page->open_bytes, open_bytes);
}

static void each(void *data,
	void (*take)(void *to, uid_t tenant, uint64_t closed_bytes, unsigned closed,
		uint64_t open_bytes),
	void *to)
{
	const struct seat *seat = data;

	for (struct ledger_tenant *t = seat->ledger->tenant;
		t < seat->ledger->tenant + LEDGER_TENANTS_MAX && atomic_load(&t->owner); t++)
		if (t != seat->page)
			take(to, (uid_t)(atomic_load(&t->owner) - 1), atomic_load(&t->closed_bytes),
				atomic_load(&t->closed), atomic_load(&t->open_bytes));
}

/* The store asks at most once a second; if the channel is full, it asks again a second later. */
static void want_back(void *data, uid_t tenant, bool is_room)
{
	const struct channel_message message = {
		.kind = CHANNEL_GIVE_BACK, .owner = tenant, .number = is_room};

	(void)channel_send(((const struct seat *)data)->channel, &message, -1);
}

/*
 * If the channel is full or the name is too long, the database is copied together with all the
 * others, when this worker ends at the latest.
 */
static void indexed(void *data, const char *database)
{
	struct channel_message message = {.kind = CHANNEL_INDEXED};

	if (database && strlen(database) < sizeof(message.name))
		strcpy(message.name, database);
	(void)channel_send(((const struct seat *)data)->channel, &message, -1);
}

void neighbours_of(const struct seat *seat, struct store_neighbours *ret)
{
	*ret = (struct store_neighbours){.data = (void *)seat,
		.since_realtime_ns = seat->since_realtime_ns,
		.reserve = seat->reserve,
		.tenant = seat->owner,
		.tell = tell,
		.each = each,
		.want_back = want_back,
		.indexed = indexed};
}

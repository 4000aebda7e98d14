/* SPDX-License-Identifier: MIT */
#include "collectord/store/page_cache.h"

#include "collectord/store/internal.h"
#include "proto/base/limits.h"

/* A share grows only if there is room for four times as many databases. */
#define SPARE 4u

uint64_t cache_share(uint64_t share, unsigned databases)
{
	if (!share)
		share = STORE_CACHE_EACH_BYTES_MAX;
	while (share > STORE_CACHE_EACH_BYTES_MIN && share * databases > STORE_CACHE_BYTES_MAX)
		share /= 2;
	while (share < STORE_CACHE_EACH_BYTES_MAX &&
		share * databases * SPARE <= STORE_CACHE_BYTES_MAX)
		share *= 2;
	return share;
}

void cache_divide(struct store *store)
{
	unsigned databases = 0;

	for (struct store_database *d = store->databases; d; d = d->next)
		databases++;
	store->cache_bytes = cache_share(store->cache_bytes, databases);
	for (struct store_database *d = store->databases; d; d = d->next)
		if (d->writer->cache_bytes != store->cache_bytes)
			writer_set_cache(d->writer, store->cache_bytes);
}

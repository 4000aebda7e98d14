/* SPDX-License-Identifier: MIT */
#include "collectord/catalog/index_totals.h"

#include <errno.h>
#include <stdlib.h>

#include "collectord/db/database.h"
#include "collectord/db/hash.h"
#include "collectord/catalog/index_private.h"
#include "proto/base/cleanup.h"

struct index_tenant {
	UT_hash_handle hh;
	bool is_lost; /* the hash table could not grow for it */
	uid_t uid;
	uint64_t closed_bytes;
	unsigned closed;
	unsigned removed; /* number of rows */
};

static void finalize_p(sqlite3_stmt **statement)
{
	sqlite3_finalize(*statement);
}

void index_totals_forget(struct index *index)
{
	struct index_tenant *tenant, *next;

	HASH_ITER (hh, index->tenants, tenant, next) {
		HASH_DEL(index->tenants, tenant);
		free(tenant);
	}
	index->has_totals = false;
	index->removed = 0;
}

/* Returns NULL if memory runs out. */
static struct index_tenant *tenant_of(struct index *index, uid_t uid)
{
	struct index_tenant *tenant;

	HASH_FIND(hh, index->tenants, &uid, sizeof(uid), tenant);
	if (tenant)
		return tenant;
	tenant = calloc(1, sizeof(*tenant));
	if (!tenant)
		return NULL;
	tenant->uid = uid;
	HASH_ADD(hh, index->tenants, uid, sizeof(tenant->uid), tenant);
	if (!tenant->is_lost)
		return tenant;
	free(tenant);
	return NULL;
}

static int read_closed(struct index *index)
{
	CLEANUP(finalize_p) sqlite3_stmt *row = NULL;
	/* Grouped by the key alone: grouping by tenant as well would sort all rows. */
	int step, r = database_prepare(index->db, &row,
			  "SELECT tenant, max(coalesce(bytes, 0)) FROM session GROUP BY database "
			  "HAVING count(*) = count(end_realtime_ns)");

	if (r < 0)
		return r;
	while ((step = sqlite3_step(row)) == SQLITE_ROW) {
		struct index_tenant *tenant = tenant_of(index, (uid_t)sqlite3_column_int64(row, 0));

		if (!tenant)
			return -ENOMEM;
		tenant->closed_bytes += (uint64_t)sqlite3_column_int64(row, 1);
		tenant->closed++;
	}
	return database_errno(step);
}

static int read_removed(struct index *index)
{
	CLEANUP(finalize_p) sqlite3_stmt *row = NULL;
	int step, r = database_prepare(
			  index->db, &row, "SELECT tenant, count(*) FROM removed GROUP BY tenant");

	if (r < 0)
		return r;
	while ((step = sqlite3_step(row)) == SQLITE_ROW) {
		struct index_tenant *tenant = tenant_of(index, (uid_t)sqlite3_column_int64(row, 0));

		if (!tenant)
			return -ENOMEM;
		tenant->removed = (unsigned)sqlite3_column_int64(row, 1);
		index->removed += tenant->removed;
	}
	return database_errno(step);
}

static int read_totals(struct index *index)
{
	int r;

	if (index->has_totals)
		return 0;
	index_totals_forget(index);
	r = read_closed(index);
	if (r == 0)
		r = read_removed(index);
	if (r < 0)
		index_totals_forget(index);
	index->has_totals = r == 0;
	return r;
}

/* Adds or subtracts @database if all its sessions are closed. */
static int count(struct index *index, const char *database, bool is_more)
{
	CLEANUP(finalize_p) sqlite3_stmt *row = NULL;
	struct index_tenant *tenant;
	uint64_t bytes;
	int step, r = database_prepare(index->db, &row,
			  "SELECT tenant, max(coalesce(bytes, 0)) FROM session WHERE database = ?1 "
			  "GROUP BY database HAVING count(*) = count(end_realtime_ns)");

	if (r < 0)
		return r;
	database_bind_text(row, 1, database);
	step = sqlite3_step(row);
	if (step != SQLITE_ROW)
		return database_errno(step);
	tenant = tenant_of(index, (uid_t)sqlite3_column_int64(row, 0));
	if (!tenant)
		return -ENOMEM;
	bytes = (uint64_t)sqlite3_column_int64(row, 1);
	tenant->closed_bytes += is_more ? bytes : -bytes;
	tenant->closed += is_more ? 1 : -1u;
	return 0;
}

void index_totals_before(struct index *index, const char *database)
{
	if (index->has_totals && count(index, database, false) < 0)
		index_totals_forget(index);
}

void index_totals_after(struct index *index, const char *database)
{
	if (index->has_totals && count(index, database, true) < 0)
		index_totals_forget(index);
}

void index_totals_removed(struct index *index, uid_t tenant, int64_t more)
{
	struct index_tenant *of = index->has_totals ? tenant_of(index, tenant) : NULL;

	if (!of) {
		index_totals_forget(index);
		return;
	}
	of->removed += (unsigned)more;
	index->removed += (uint64_t)more;
}

bool index_totals_most_removed(struct index *index, uid_t *ret)
{
	const struct index_tenant *most = NULL;

	if (read_totals(index) < 0)
		return false;
	for (const struct index_tenant *t = index->tenants; t; t = t->hh.next)
		if (!most || t->removed > most->removed)
			most = t;
	if (!most || !most->removed)
		return false;
	*ret = most->uid;
	return true;
}

int index_each_closed(struct index *index,
	void (*take)(uid_t tenant, uint64_t bytes, unsigned count, void *data), void *data)
{
	int r = read_totals(index);

	if (r < 0)
		return r;
	for (const struct index_tenant *t = index->tenants; t; t = t->hh.next)
		if (t->closed)
			take(t->uid, t->closed_bytes, t->closed, data);
	return 0;
}

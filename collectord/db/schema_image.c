/* SPDX-License-Identifier: MIT */
/*
 * schema-image > FILE.c: runs at build time. Applies the migrations to an empty database in memory
 * and writes that database as C source: a new file begins as this image (migrate.c). The migrations
 * stay the one definition of the schema. Nearly all bytes are zeros, so only runs of other bytes
 * are written.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "collectord/db/database.h"
#include "collectord/db/migrate.h"
#include "proto/names/schema.h"

/* A run ends at this many zeros, since a new run costs about as much. */
#define GAP_BYTES 16

static sqlite3 *make(void)
{
	sqlite3 *db;
	char sql[128];

	snprintf(sql, sizeof(sql), "PRAGMA page_size=%d; PRAGMA application_id=%d; BEGIN",
		DATABASE_PAGE_BYTES, SCHEMA_APPLICATION_ID);
	if (sqlite3_open(":memory:", &db) != SQLITE_OK ||
		sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		return NULL;
	for (const struct migration *m = migrations; m->version; m++) {
		char *why = NULL;

		snprintf(sql, sizeof(sql), "PRAGMA user_version=%d", m->version);
		if (sqlite3_exec(db, m->sql, NULL, NULL, &why) == SQLITE_OK &&
			sqlite3_exec(db, sql, NULL, NULL, &why) == SQLITE_OK)
			continue;
		fprintf(stderr, "schema-image: %s: %s\n", m->name, why);
		return NULL;
	}
	return sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK ? db : NULL;
}

static size_t zeros(const unsigned char *bytes, size_t at, size_t end)
{
	size_t n = 0;

	while (at + n < end && !bytes[at + n])
		n++;
	return n;
}

/* Writes one run from @at on. Returns where it ends. */
static size_t write_run(const unsigned char *bytes, size_t at, size_t end)
{
	size_t stop = at;

	while (stop < end && zeros(bytes, stop, end) < GAP_BYTES)
		stop++;
	printf("\t{%zu, %zu, (const unsigned char[]){", at, stop - at);
	for (size_t i = at; i < stop; i++)
		printf("%s%u,", (i - at) % 24 ? "" : "\n", bytes[i]);
	printf("}},\n");
	return stop;
}

int main(void)
{
	sqlite3 *db = make();
	sqlite3_int64 size = 0;
	unsigned char *bytes = db ? sqlite3_serialize(db, "main", &size, 0) : NULL;

	if (!bytes)
		return EXIT_FAILURE;
	printf("/* Made by schema-image. */\n#include \"collectord/db/migrate.h\"\n\n"
	       "const size_t schema_image_bytes = %lld;\n"
	       "const struct schema_run schema_image[] = {\n",
		size);
	for (size_t at = 0; at < (size_t)size;) {
		at += zeros(bytes, at, (size_t)size);
		if (at < (size_t)size)
			at = write_run(bytes, at, (size_t)size);
	}
	printf("\t{0, 0, 0},\n};\n");
	sqlite3_free(bytes);
	sqlite3_close(db);
	return fflush(stdout) == 0 && !ferror(stdout) ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Tells whether a session database is complete, from its ledger, in the same words that the
 * collector used when it closed the file. One thread.
 */
#include <jansson.h>

#include "cli/database/query.h"
#include "proto/names/completeness.h"

struct verdict {
	struct completeness counts;
	char line[COMPLETENESS_LINE_BYTES];
	bool is_complete;
	bool is_unknown; /* another tool recorded it, so it is not known whether it is complete */
	bool is_simulated;
	bool is_empty; /* nothing was dispatched */
	char *names;   /* names of the reasons in counts */
	size_t names_bytes;
};

/*
 * @rows_seen: the number of dispatches that a pass over the same query found, or NULL; with it the
 * ledger is compared to the rows. Returns 0, or -errno with the reason in query_error().
 */
int verdict_new(struct query *query, const uint64_t *rows_seen, struct verdict **ret);
void verdict_free_p(struct verdict **verdict);

/* For labels: NULL if the record is complete, otherwise a word for the kind of record. */
const char *verdict_label(const struct verdict *verdict);

/* Returns true, false, or null if it is unknown. */
json_t *verdict_complete_json(const struct verdict *verdict);

/* Adds the keys of the contract to @document. */
void verdict_put_json(const struct verdict *verdict, json_t *document);

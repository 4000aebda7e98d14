/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Whether a session database is complete, from its ledger: the same words that the collector
 * used when it closed it. One thread.
 */
#include <jansson.h>

#include "cli/database/query.h"
#include "proto/names/completeness.h"

struct verdict {
	struct completeness counts;
	char line[COMPLETENESS_LINE_BYTES];
	bool is_complete;
	bool is_unknown; /* another tool recorded it: neither complete nor known not to be */
	bool is_simulated;
	bool is_empty; /* nothing was dispatched at all */
	char *names;   /* of the reasons in counts */
	size_t names_bytes;
};

/*
 * @rows_seen: the number of dispatches that a pass over the same query found, or NULL; with it the
 * ledger is checked against the rows.
 * 0 or -errno; then query_error() tells.
 */
int verdict_new(struct query *query, const uint64_t *rows_seen, struct verdict **ret);
void verdict_free_p(struct verdict **verdict);

/* For labels: NULL if the record is complete, else a word for the kind of record that it is. */
const char *verdict_label(const struct verdict *verdict);

/* true, false, or null where it is unknown; NULL: no memory. */
json_t *verdict_complete_json(const struct verdict *verdict);

/* Adds the contract's keys to @document. -ENOMEM. */
int verdict_put_json(const struct verdict *verdict, json_t *document);

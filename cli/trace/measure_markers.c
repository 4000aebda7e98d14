// SPDX-License-Identifier: MIT
/* The names of the ranges in which kernels were submitted. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/trace/host_call_key.h"
#include "cli/base/array.h"
#include "cli/trace/kernel_totals.h"
#include "cli/trace/step_names.h"
#include "proto/base/cleanup.h"

void measure_ranges_done(struct measure_ranges *ranges)
{
	idmap_done(&ranges->name_of);
}

static int add_name(struct measure *m, const char *text)
{
	char *name = strdup(text ? text : "");

	if (!name || GROW(m->markers, m->marker_count, m->marker_capacity)) {
		free(name);
		return -ENOMEM;
	}
	m->markers[m->marker_count++] = name;
	return 0;
}

/* Maps ids of texts to names; all texts of steps have one name, "step N". */
static int load_texts(struct query *query, const struct step_names *steps, struct measure *m,
	struct idmap *name_of_text)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	int r = query_ask(query, "range_texts", &rows);

	while (!r && (r = query_next(rows)) > 0) {
		int64_t id = query_integer(rows, 0), name = step_names_name(steps, id);
		const char *text = step_names_text(steps, name);
		uint32_t *at = idmap_at(name_of_text, name), value;

		if (!at)
			return -ENOMEM;
		r = 0;
		if (*at == IDMAP_NONE) {
			*at = (uint32_t)m->marker_count;
			r = add_name(m, text ? text : query_text(rows, 1));
		}
		value = *at;
		at = r || name == id ? NULL : idmap_at(name_of_text, id);
		if (at)
			*at = value;
	}
	return r;
}

int measure_load_ranges(struct query *query, const regex_t *steps, struct measure *measure,
	struct measure_ranges *ret)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	CLEANUP(step_names_done) struct step_names names = {0};
	CLEANUP(idmap_done) struct idmap name_of_text = {0};
	int r = add_name(measure, "(no range)");

	if (!r)
		r = add_name(measure, "(range without a record)");
	if (!r)
		r = step_names_load(query, steps, &names);
	if (!r)
		r = load_texts(query, &names, measure, &name_of_text);
	if (!r)
		r = query_ask(query, "tree_markers", &rows);
	while (!r && (r = query_next(rows)) > 0) {
		uint32_t *at = idmap_at(&ret->name_of,
			host_call_key(query_integer(rows, 0), query_integer(rows, 1)));
		uint32_t name = idmap_find(&name_of_text, query_integer(rows, 5));

		if (!at)
			return -ENOMEM;
		*at = name == IDMAP_NONE ? MEASURE_LOST_MARKER : name;
		r = 0;
	}
	return r;
}

uint32_t measure_find_range(const struct measure_ranges *ranges, int64_t process_id, int64_t id)
{
	uint32_t name = idmap_find(&ranges->name_of, host_call_key(process_id, id));

	return name == IDMAP_NONE ? MEASURE_LOST_MARKER : name;
}

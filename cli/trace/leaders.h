/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Which process is the rank. A rank has several where a preflight, an autotuning child or an
 * earlier attempt of an elastic job has inherited its number; one of them leads, and it alone is
 * held against other ranks: the one with steps; where none has, with collectives; where none has,
 * with most kernel time. Of equals it is the last attempt, which started last. Where ranks are
 * known a process without one does not lead; where none is known each process does. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/database/query.h"
#include "cli/trace/id_map.h"

struct measure;
struct steps;

struct leader {
	int64_t process_id, pid, rank;
	bool has_rank;
	/* What decides; processes of a rank stand in the order of their attempts and starts. */
	bool has_steps, has_collectives;
	uint64_t kernels; /* dispatched, recorded or not */
	int64_t kernel_ns;
	bool leads;
};

struct leaders {
	struct leader *at; /* by rank (unknown last), attempt, start */
	size_t count;
	struct idmap place_of; /* by process */
};

/*
 * Of all processes. @measure: with categories, or no kernel is a collective's. @steps: NULL: steps
 * decide nothing; nor do those that are the whole run. Borrows neither. 0 or -errno; then
 * query_error() tells, or it is -ENOMEM.
 */
int leaders_new(struct query *query, const struct measure *measure, const struct steps *steps,
	struct leaders **ret);
void leaders_free_p(struct leaders **leaders);

/* Sets leads of each. Pure; a process without kernels leads nothing. */
void leaders_choose(struct leaders *leaders);
/* NULL: it is none of the session's. */
const struct leader *leaders_find(const struct leaders *leaders, int64_t process_id);
/* What is none of the session's does not lead. */
bool leaders_leads(const struct leaders *leaders, int64_t process_id);

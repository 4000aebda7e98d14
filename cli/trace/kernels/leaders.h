/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Decides which process stands for a rank. A rank has several processes if a preflight, an
 * autotuning child or an earlier attempt of an elastic job inherited its number. One of them leads,
 * and only that one is compared with other ranks: the one with steps; if none has steps, the one
 * with collectives; if none has these, the one with most kernel time. Of equal ones the last
 * attempt leads, which started last. If ranks are known, a process without one does not lead; if
 * none is known, each process does. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/trace/id_map.h"
#include "cli/trace/trace.h"

struct measure;
struct steps;

struct leader {
	int64_t process_id, pid, rank;
	bool has_rank;
	/* The criteria; processes of a rank are sorted by attempt and start. */
	bool has_steps, has_collectives;
	uint64_t kernels; /* dispatched, whether recorded or not */
	int64_t kernel_ns;
	bool leads;
};

struct leaders {
	struct leader *at; /* sorted by rank (unknown last), attempt, start */
	size_t count;
	struct idmap place_of; /* keyed by process */
};

/*
 * If kernels have no categories, none counts as that of a collective. @steps is ignored if it is
 * NULL or the whole run is one step. Borrows neither. Returns 0, or -errno with the reason in
 * query_error().
 */
int leaders_new(const struct trace *trace, const struct measure *measure, const struct steps *steps,
	struct leaders **ret);
/* Finds leaders from sums of kernels that the caller has; several sums may belong to one
 * process. */
struct leaders_sum {
	int64_t process_id, total_ns;
	uint64_t calls;
	bool is_communication;
};
int leaders_new_of(const struct trace *trace, const struct leaders_sum *sums, size_t count,
	const struct steps *steps, struct leaders **ret);
void leaders_free_p(struct leaders **leaders);

/* Sets leads for each process. Pure function; a process without kernels never leads. */
void leaders_choose(struct leaders *leaders);
/* Returns NULL if it is not in the session. */
const struct leader *leaders_find(const struct leaders *leaders, int64_t process_id);
/* A process that is not in the session does not lead. */
bool leaders_leads(const struct leaders *leaders, int64_t process_id);

/* SPDX-License-Identifier: MIT */
#include "shim/record/rank_changes.h"

#include <errno.h>
#include <stdatomic.h>

#include "proto/names/collectives.h"
#include "proto/wire/msg.h"
#include "shim/base/gate.h"
#include "shim/base/process/process_rank.h"
#include "shim/base/wait.h"
#include "shim/record/recorder.h"

/* Bounds the log if a program changes its rank again and again. */
#define CHANGES_MAX 64u

static atomic_flag is_taking = ATOMIC_FLAG_INIT;

/* The last change that was taken since rank_changes_begin(); protected by is_taking. */
static struct {
	struct process_rank rank;
	bool is_undefined; /* another thread kept it from the log */
	uint32_t finished; /* changes that are in the log, or found no room there */
} taken;

static void number_set(protobuf_c_boolean *has, uint32_t *field, struct rank_number number)
{
	*has = number.is_known;
	*field = number.value;
}

static void fill(Rtl__RankDef *definition, const struct process_rank *rank)
{
	const struct rank_info *declared = &rank->declared;

	msg_set_bytes(&definition->has_launcher, &definition->launcher, declared->launcher);
	msg_set_bytes(
		&definition->has_job, &definition->job, declared->job[0] ? declared->job : NULL);
	number_set(&definition->has_rank, &definition->rank, declared->rank);
	number_set(&definition->has_local_rank, &definition->local_rank, declared->local_rank);
	number_set(&definition->has_world_size, &definition->world_size, declared->world_size);
	number_set(&definition->has_attempt, &definition->attempt, declared->attempt);
	definition->has_comm = definition->has_comm_size =
		rank->largest.identity != COLLECTIVE_NO_COMM;
	definition->comm = rank->largest.identity;
	definition->comm_size = rank->largest.size;
	definition->has_comm_rank = rank->largest.rank != COLLECTIVE_NO_RANK;
	definition->comm_rank = rank->largest.rank;
}

/* Returns -EAGAIN if another thread kept it from the log, else 0. */
static int define(
	struct recorder *recorder, const struct process_rank *rank, enum recorder_define_how how)
{
	Rtl__RankDef definition = RTL__RANK_DEF__INIT;
	Rtl__RankDef *list[] = {&definition};
	Rtl__Defines defines = RTL__DEFINES__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;
	uint8_t packed[2 * LABEL_BYTES_MAX + 128];

	fill(&definition, rank);
	defines.ranks = list;
	defines.n_ranks = 1;
	frame.body_case = RTL__FRAME__BODY_DEFINES;
	frame.defines = &defines;
	/* Without room in the log the collector keeps the earlier rank; no dispatch is lost. */
	return recorder_define(recorder, packed, msg_pack(&frame, packed), how) == -EAGAIN ? -EAGAIN
											   : 0;
}

/*
 * Follows the same rule as the collector: the communicator's rank counts if the environment names
 * none.
 */
static void gate_update_rank(const struct process_rank *rank)
{
	const struct rank_number *declared = &rank->declared.rank;
	bool is_of_comm = !declared->is_known && rank->largest.rank != COLLECTIVE_NO_RANK;

	gate_set_rank(declared->is_known || is_of_comm,
		is_of_comm ? rank->largest.rank : declared->value);
}

/* Returns false if another thread kept this one from it. */
static bool run(struct recorder *recorder, enum recorder_define_how how)
{
	unsigned checks = 0;
	bool is_done = true;

	while (atomic_flag_test_and_set_explicit(&is_taking, memory_order_acquire)) {
		if (checks == PATIENCE_YIELDS)
			return false;
		wait_between_checks(&checks);
	}
	if (taken.finished < CHANGES_MAX) {
		int r = process_rank_take(&taken.rank);

		taken.is_undefined |= r > 0;
		is_done = r >= 0;
	}
	if (taken.is_undefined) {
		taken.is_undefined = define(recorder, &taken.rank, how) == -EAGAIN;
		gate_update_rank(&taken.rank);
		taken.finished += !taken.is_undefined;
		is_done &= !taken.is_undefined;
	}
	atomic_flag_clear_explicit(&is_taking, memory_order_release);
	return is_done;
}

void rank_changes_run(struct recorder *recorder)
{
	(void)run(recorder, RECORDER_DEFINE_WAIT);
}

bool rank_changes_end(struct recorder *recorder)
{
	bool is_done = run(recorder, RECORDER_DEFINE_TRY);

	for (unsigned checks = 0; !is_done && checks < PATIENCE_YIELDS;) {
		wait_between_checks(&checks);
		is_done = run(recorder, RECORDER_DEFINE_TRY);
	}
	return is_done;
}

void rank_changes_begin(void)
{
	if (atomic_flag_test_and_set_explicit(&is_taking, memory_order_acquire))
		return;
	taken.is_undefined = false;
	taken.finished = 0;
	atomic_flag_clear_explicit(&is_taking, memory_order_release);
}

void rank_changes_forget(void)
{
	taken.is_undefined = false;
	taken.finished = 0;
	atomic_flag_clear_explicit(&is_taking, memory_order_relaxed);
}

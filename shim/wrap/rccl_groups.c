/* SPDX-License-Identifier: MIT */
#include "shim/wrap/rccl_groups.h"

#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "proto/names/collectives.h"
#include "shim/events/calls.h"
#include "shim/base/thread.h"

static struct rccl_group *group(void)
{
	return &thread_state()->group;
}

void rccl_group_enter(void)
{
	if (!group()->depth++)
		group()->end = calls_reserve();
}

void rccl_group_leave(void)
{
	if (group()->depth && --group()->depth)
		return;
	for (uint32_t i = 0; i < group()->count; i++)
		communicators_add(*group()->deferred[i].comm, &group()->deferred[i].known);
	group()->count = 0;
	group()->end = 0;
}

bool rccl_group_is_outermost(void)
{
	return group()->depth == 1;
}

uint64_t rccl_group_end(void)
{
	return group()->depth ? group()->end : 0;
}

bool rccl_group_defer(void **comm, const struct communicator *known)
{
	if (!group()->depth || group()->count == RCCL_DEFERRED_MAX)
		return false;
	group()->deferred[group()->count++] = (struct rccl_deferred){comm, *known};
	return true;
}

uint64_t rccl_identity_of_process(void)
{
	static _Atomic uint64_t calls;
	uint64_t parts[] = {(uint64_t)getpid(),
		atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed), clock_boottime_ns()};

	return communicator_identity(parts, sizeof(parts));
}

uint64_t rccl_identity_of_split(uint64_t parent, uint64_t split, int color)
{
	uint64_t parts[] = {parent, split, (uint64_t)(int64_t)color};

	if (parent == COLLECTIVE_NO_COMM)
		return COLLECTIVE_NO_COMM;
	return communicator_identity(parts, sizeof(parts));
}

// SPDX-License-Identifier: MIT
/* The communicator of all ranks, and RCCL's calls on it. */
#include "tests/workload/collectives.h"

#include <assert.h>
#include <errno.h>

#include "tests/workload/rccl.h"
#include "tests/workload/talk.h"

static_assert(RCCL_ID_BYTES == BOARD_ID_BYTES, "the board holds it");

static const struct code *code;
static void *comm;

/* What a stream is to the stand-in: a launch that waits to be made. */
struct launch {
	struct rccl_stream stream;
	struct producer *producer;
	const hsa_kernel_dispatch_packet_t *packet;
	hsa_signal_t signal;
};

static void launch_kernel(struct rccl_stream *stream)
{
	struct launch *launch = (struct launch *)stream;

	queue_dispatch(launch->producer, launch->packet, launch->signal);
}

static int check(int result, const char *what)
{
	if (!result)
		return 0;
	talk("%s: %d", what, result);
	return -EIO;
}

int collectives_open(const struct code *new_code, struct board *board, int rank)
{
	rccl_unique_id id;
	int r = 0;

	code = new_code;
	if (rank == 0)
		r = check(ncclGetUniqueId(&id), "ncclGetUniqueId");
	if (!r)
		r = board_share_id(board, rank, id.internal);
	return r ? r : check(ncclCommInitRank(&comm, board->ranks, id, rank), "ncclCommInitRank");
}

int collectives_launch(
	struct producer *producer, const hsa_kernel_dispatch_packet_t *packet, hsa_signal_t signal)
{
	const struct kernel_args *args = packet->kernarg_address;
	struct launch launch = {{launch_kernel}, producer, packet, signal};

	if (packet->kernel_object == code->kernel[KERNEL_ALL_REDUCE].object)
		return check(ncclAllReduce(args->a, args->c, (size_t)args->n0, RCCL_FLOAT32,
				     RCCL_SUM, comm, &launch),
			"ncclAllReduce");
	return check(ncclReduceScatter(args->a, args->c, (size_t)args->n0, RCCL_FLOAT32, RCCL_SUM,
			     comm, &launch),
		"ncclReduceScatter");
}

void collectives_close(void)
{
	if (comm)
		(void)check(ncclCommDestroy(comm), "ncclCommDestroy");
	comm = NULL;
}

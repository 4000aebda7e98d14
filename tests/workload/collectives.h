/* SPDX-License-Identifier: MIT */
/*
 * How a rank launches what moves data between ranks. Of rtl-demo these are its own kernels
 * (collectives.c); rtl-demo-rccl calls a stand-in for RCCL (collectives_rccl.c), which launches the
 * same kernels. One thread.
 */
#pragma once

#include "tests/workload/board.h"
#include "tests/workload/code.h"
#include "tests/workload/queue.h"

/* Waits for rank 0 if the ranks need something of it. -errno after saying why. */
int collectives_open(const struct code *code, struct board *board, int rank);

/* Launches @packet, an all-reduce or a reduce-scatter; a zero @signal is none. -EIO. */
int collectives_launch(
	struct producer *producer, const hsa_kernel_dispatch_packet_t *packet, hsa_signal_t signal);

void collectives_close(void);

// SPDX-License-Identifier: MIT
/*
 * The twin of the shim: shim/capture/dispatch.c with nothing in it. Its front ends find, follow and
 * hand on every packet as the shim's do, and record none: what is left when this is taken from the
 * shim's cost is what recording costs.
 */
#include "shim/capture/dispatch.h"

void dispatch_signal_used(struct capture *c, bool is_dispatch, uint64_t signal)
{
	(void)c, (void)is_dispatch, (void)signal;
}

uint64_t dispatch_packet(struct dispatch_batch *batch, const hsa_kernel_dispatch_packet_t *packet,
	uint64_t signal, const struct packet_origin *origin, enum dispatch_how how)
{
	(void)batch, (void)packet, (void)signal, (void)origin, (void)how;
	return 0;
}

bool dispatch_resume(struct dispatch_batch *batch, const hsa_kernel_dispatch_packet_t *packet,
	uint64_t signal, const struct dispatch_mark *mark, uint64_t *ret_signal)
{
	(void)batch, (void)packet, (void)signal, (void)mark, (void)ret_signal;
	return false;
}

bool dispatch_skip_resume(struct capture_queue *q)
{
	(void)q;
	return false;
}

void dispatch_other(struct dispatch_batch *batch, const hsa_kernel_dispatch_packet_t *packet,
	uint64_t signal, uint32_t tid)
{
	(void)batch, (void)packet, (void)signal, (void)tid;
}

void dispatch_end(struct dispatch_batch *batch)
{
	(void)batch;
}

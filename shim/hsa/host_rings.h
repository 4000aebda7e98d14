/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Puts rings into host memory for programs that ask for them in GPU memory: a ring that the host
 * reads across the bus cannot be walked (docs/capture.md, rule 15), and all earlier releases had
 * rings in host memory. The caller's descriptors are not changed: changed copies are passed to the
 * runtime, and the resulting queues are copied back. Runs on the thread that creates queues; cold.
 */
#include "shim/hsa/later_api.h"

/*
 * Copies that request host memory, from malloc(); NULL if nothing has to change, or if there is no
 * memory.
 */
struct hsa_later_queue_desc *host_rings_ask(
	const struct hsa_later_queue_desc *descs, uint32_t count);

/*
 * Called after @create returned @status for @copies. A queue that could not be created from a
 * changed copy is requested again as the caller wanted it, and its copy then has the original
 * flags. Stores all queues in @descs, and returns what @create would have returned.
 */
hsa_status_t host_rings_settle(hsa_later_queue_create *create, hsa_agent_t agent,
	struct hsa_later_queue_desc *descs, struct hsa_later_queue_desc *copies, uint32_t count,
	hsa_status_t status);

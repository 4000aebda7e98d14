/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Rings in host memory for programs that ask for them in a GPU's: a ring that the host reads
 * through a bus window cannot be walked (rule 15 of docs/shadow.md), and every release before had
 * them in host memory. The caller's descriptors are not changed: copies are asked for, and their
 * queues given back. On the thread that creates queues; cold.
 */
#include "shim/hsa/later_api.h"

/* Copies that ask for host memory, malloc'ed; NULL: nothing is to be changed, or no memory. */
struct hsa_later_queue_desc *host_rings_ask(
	const struct hsa_later_queue_desc *descs, uint32_t count);

/*
 * After @create was called with @copies and returned @status: a queue that was not made of a
 * changed copy is asked for as the caller wanted it, and its copy says so. All queues are in @descs
 * then. Returns what
 * @create would have.
 */
hsa_status_t host_rings_settle(hsa_later_queue_create *create, hsa_agent_t agent,
	struct hsa_later_queue_desc *descs, struct hsa_later_queue_desc *copies, uint32_t count,
	hsa_status_t status);

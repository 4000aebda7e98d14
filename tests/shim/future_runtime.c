/* SPDX-License-Identifier: MIT
 *
 * A runtime of tomorrow, as far as tables go: an HSA tool that is loaded before the shim and
 * shows it the installed runtime's tables in the layout of AMD's interface 1.31, with the ways
 * to create queues that it has more. Programs get at these as the later runtime exports them:
 * through the table, so through whatever the tools have put there.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include "tests/shim/future_runtime.h"

#define EXPORT __attribute__((visibility("default")))

struct version {
	uint32_t major, bytes, step, reserved;
};

struct root {
	struct version version;
	struct version *core, *ext;
};

/* Sizes of the installed table (up to 5.5) and of ours, with two members inserted at 144. */
#define EARLY_BYTES_MAX 424u
#define INSERTED_AT	144u
#define INSERTED_BYTES	16u
#define EXT_BYTES	744u
#define EXT_STEP	0x12u
#define AT_ACQUIRE	624u
#define AT_RELEASE	632u
#define AT_SDMA_CREATE	672u
#define AT_QUEUE_CREATE 704u
#define AT_CORE_CREATE	72u
#define AT_CORE_DESTROY 88u

static union {
	struct version version;
	unsigned char bytes[EXT_BYTES];
} ext;

static __typeof__(hsa_queue_create) *queue_create;
static __typeof__(hsa_queue_destroy) *queue_destroy;

static void member_put(unsigned offset, const void *function)
{
	memcpy(ext.bytes + offset, function, sizeof(void *));
}

/* ---- functions of the later runtime ---------------------------------------------------- */

static hsa_status_t create_one(hsa_agent_t agent, struct future_queue_desc *desc)
{
	desc->queue = NULL;
	if (desc->queue_size_bytes & (desc->queue_size_bytes - 1))
		return HSA_STATUS_ERROR_INVALID_ARGUMENT;
	return queue_create(agent, desc->queue_size_bytes / 64, desc->type, desc->callback,
		desc->callback_data, desc->private_segment_size, UINT32_MAX, &desc->queue);
}

static hsa_status_t create(hsa_agent_t agent, struct future_queue_desc *descs, uint32_t count)
{
	hsa_status_t first = HSA_STATUS_SUCCESS;

	for (uint32_t i = 0; i < count; i++) {
		hsa_status_t status = create_one(agent, &descs[i]);

		if (first == HSA_STATUS_SUCCESS)
			first = status;
	}
	return first;
}

static hsa_status_t acquire(hsa_agent_t agent, hsa_queue_type_t type, int priority,
	void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data, uint64_t flags,
	hsa_queue_t **queue)
{
	(void)priority;
	(void)flags;
	return queue_create(agent, 1024, type, callback, data, UINT32_MAX, UINT32_MAX, queue);
}

/* With the arguments of the later runtime's own test: no flags, any engine. */
static hsa_status_t sdma_create(
	hsa_agent_t agent, uint32_t flags, uint32_t engine, uint32_t zero, uint64_t *queue)
{
	if (flags || engine || zero || !agent.handle)
		return HSA_STATUS_ERROR_INVALID_ARGUMENT;
	*queue = 1;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t release(hsa_queue_t *queue)
{
	return queue_destroy(queue);
}

/* ---- exports, called through the table ------------------------------------------------- */

#define CALL(offset, function)                                                                     \
	__typeof__(function) *call;                                                                \
	memcpy(&call, ext.bytes + (offset), sizeof(call))

EXPORT hsa_status_t future_queue_create(
	hsa_agent_t agent, struct future_queue_desc *descs, uint32_t count)
{
	CALL(AT_QUEUE_CREATE, create);
	return call(agent, descs, count);
}

EXPORT hsa_status_t future_counted_acquire(hsa_agent_t agent, hsa_queue_t **queue)
{
	CALL(AT_ACQUIRE, acquire);
	return call(agent, HSA_QUEUE_TYPE_MULTI, 0, NULL, NULL, 0, queue);
}

EXPORT hsa_status_t future_sdma_create(hsa_agent_t agent, uint32_t flags, uint64_t *queue)
{
	CALL(AT_SDMA_CREATE, sdma_create);
	return call(agent, flags, 0, 0, queue);
}

EXPORT hsa_status_t future_counted_release(hsa_queue_t *queue)
{
	CALL(AT_RELEASE, release);
	return call(queue);
}

bool OnLoad(void *table, uint64_t version, uint64_t failed, const char *const *names);

EXPORT bool OnLoad(void *table, uint64_t version, uint64_t failed, const char *const *names)
{
	struct root *root = table;
	const unsigned char *early = (const unsigned char *)root->ext;
	void *function;

	(void)version;
	(void)failed;
	(void)names;
	if (root->ext->bytes > EARLY_BYTES_MAX)
		abort(); /* not the runtime that the tests were written for */
	memcpy(&queue_create, (const unsigned char *)root->core + AT_CORE_CREATE,
		sizeof(queue_create));
	memcpy(&queue_destroy, (const unsigned char *)root->core + AT_CORE_DESTROY,
		sizeof(queue_destroy));
	memcpy(ext.bytes, early, INSERTED_AT);
	memcpy(ext.bytes + INSERTED_AT + INSERTED_BYTES, early + INSERTED_AT,
		root->ext->bytes - INSERTED_AT);
	ext.version = (struct version){2, EXT_BYTES, EXT_STEP, 0};
	function = (void *)(uintptr_t)create;
	member_put(AT_QUEUE_CREATE, &function);
	function = (void *)(uintptr_t)sdma_create;
	member_put(AT_SDMA_CREATE, &function);
	function = (void *)(uintptr_t)acquire;
	member_put(AT_ACQUIRE, &function);
	function = (void *)(uintptr_t)release;
	member_put(AT_RELEASE, &function);
	root->ext = &ext.version;
	return true;
}

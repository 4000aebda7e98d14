// SPDX-License-Identifier: MIT
#include "shim/capture/capture.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "shim/capture/capture_internal.h"
#include "shim/capture/signals.h"

/* Zeroed memory; a page takes memory only once it was used. */
static void *sparse_new(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static void sparse_free(void *memory, size_t bytes)
{
	if (memory)
		munmap(memory, bytes);
}

#define SLOTS_BYTES	 (RECORDER_SLOTS * sizeof(struct slot_private))
#define QUEUES_BYTES	 (RECORDER_QUEUES * sizeof(struct capture_queue))
#define APPSIG_BYTES	 (APPSIG_BUCKETS * sizeof(_Atomic uint64_t[APPSIG_WAYS]))
#define QUARANTINE_BYTES (QUARANTINE_MAX * sizeof(struct quarantined))
#define OURS_BYTES	 4096u

/* A word that is 1 here and 0 in a child, which has neither our thread nor our recorder. */
static _Atomic uint32_t *ours_new(void)
{
	_Atomic uint32_t *page = sparse_new(OURS_BYTES);

	if (!page)
		return NULL;
	/* Before Linux 4.14 only fork.c detects a child. */
	(void)madvise((void *)page, OURS_BYTES, MADV_WIPEONFORK);
	atomic_store_explicit(page, 1, memory_order_relaxed);
	return page;
}

static int memory_get(struct capture *c)
{
	c->slots = sparse_new(SLOTS_BYTES);
	c->queues = sparse_new(QUEUES_BYTES);
	c->appsig = sparse_new(APPSIG_BYTES);
	c->quarantine = sparse_new(QUARANTINE_BYTES);
	c->head.is_ours = ours_new();
	if (!c->slots || !c->queues || !c->appsig || !c->quarantine || !c->head.is_ours)
		return -ENOMEM;
	return batch_init(&c->batch);
}

static const struct symbol_entry no_symbol;

int capture_new(const struct recorder_identity *identity, const struct capture_hsa *hsa,
	const struct walks *walks, struct capture **ret)
{
	struct capture *c = aligned_alloc(CACHE_LINE_BYTES, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	memset(c, 0, sizeof(*c));
	c->hsa = *hsa;
	c->walks = walks;
	if (!hsa->symbols) {
		c->hsa.symbols = &no_symbol;
		c->hsa.symbols_mask = 0;
	}
	c->is_careful = hsa->count_unlinked || hsa->packet_note;
	r = recorder_create(identity, &c->recorder);
	if (r == 0)
		r = memory_get(c);
	if (r < 0) {
		capture_done(c);
		return r;
	}
	*ret = c;
	return 0;
}

struct capture *capture_done(struct capture *c)
{
	if (!c)
		return NULL;
	if (c->slots)
		signals_done(c);
	recorder_close(&c->recorder);
	sparse_free(c->slots, SLOTS_BYTES);
	sparse_free(c->queues, QUEUES_BYTES);
	sparse_free(c->appsig, APPSIG_BYTES);
	sparse_free(c->quarantine, QUARANTINE_BYTES);
	sparse_free((void *)c->head.is_ours, OURS_BYTES);
	batch_done(&c->batch);
	free(c);
	return NULL;
}

struct recorder *capture_recorder(struct capture *c)
{
	return &c->recorder;
}

const struct capture_hsa *capture_hsa_of(const struct capture *c)
{
	return &c->hsa;
}

const struct pace *capture_pace(const struct capture *c)
{
	return &c->pace;
}

void capture_stop(struct capture *c)
{
	atomic_store_explicit(&c->is_stopped, 1, memory_order_relaxed);
	atomic_store_explicit(&c->is_careful, 1, memory_order_relaxed);
}

void capture_release_signals(struct capture *c)
{
	harvest_lock_wait(c);
	pool_release(c);
	harvest_lock_release(c);
}

void capture_pass_through(struct capture *c)
{
	atomic_store_explicit(c->head.is_ours, 0, memory_order_relaxed);
}

static_assert(offsetof(struct capture, head) == 0, "capture_head");

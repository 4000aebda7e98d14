// SPDX-License-Identifier: MIT
#include "tests/softgpu/softgpu.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * Idle polling: spin a little (a submission often follows at once), then sleep
 * an eighth of the time already idle. Dozens of processors share few cores.
 */
#define SPIN_NS		  20000u
#define SLEEP_MAX_NS	  2000000u
#define SLEEP_LONG_NS	  5000000u
#define LONG_IDLE_NS	  2000000000u
#define SLEEP_DIVISOR	  8u
#define DOORBELL_STRIDE	  8u /* in uint64_t: a cache line each */
#define DOORBELL_NOT_RUNG UINT64_MAX

struct device softgpu_device[SOFTGPU_GPUS_MAX];

static pthread_mutex_t ids_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t next_queue_id;
static uint32_t next_ordinal;
static uint64_t *doorbells;
static bool doorbell_used[SOFTGPU_QUEUES_MAX];
static uint64_t slot_id[SOFTGPU_QUEUES_MAX]; /* atomic: the queue that has the slot; 0 if none */
static uint32_t kicks, sleepers;

static long futex(uint32_t *word, int op, uint32_t value, const struct timespec *timeout)
{
	return syscall(SYS_futex, word, op, value, timeout, NULL, 0);
}

void queue_kick(void)
{
	if (!__atomic_load_n(&sleepers, __ATOMIC_SEQ_CST))
		return;
	__atomic_add_fetch(&kicks, 1, __ATOMIC_SEQ_CST);
	futex(&kicks, FUTEX_WAKE_PRIVATE, INT_MAX, NULL);
}

static void sleep_kickable(uint64_t ns)
{
	struct timespec ts = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
	uint32_t seen = __atomic_load_n(&kicks, __ATOMIC_SEQ_CST);

	__atomic_add_fetch(&sleepers, 1, __ATOMIC_SEQ_CST);
	futex(&kicks, FUTEX_WAIT_PRIVATE, seen, &ts);
	__atomic_sub_fetch(&sleepers, 1, __ATOMIC_SEQ_CST);
}

static uint64_t mono_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void queue_relax(unsigned int times)
{
	for (unsigned int i = 0; i < times; i++) {
#if defined(__x86_64__)
		__builtin_ia32_pause();
#else
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
#endif
	}
}

static void rest(const struct device *dev, uint64_t idle_ns)
{
	uint64_t ns, wall;

	if (idle_ns < SPIN_NS) {
		queue_relax(16);
		return;
	}
	ns = idle_ns / SLEEP_DIVISOR;
	if (ns > SLEEP_MAX_NS)
		ns = idle_ns > LONG_IDLE_NS ? SLEEP_LONG_NS : SLEEP_MAX_NS;
	/* A kernel that ends in real time must be on time. */
	if (dev->due_ns) {
		wall = clock_wall_ns();
		if (dev->due_ns <= wall)
			return;
		if (dev->due_ns - wall < ns)
			ns = dev->due_ns - wall;
	}
	sleep_kickable(ns);
}

static bool run_queues(struct device *dev)
{
	bool did_any = false;

	dev->due_ns = 0;
	for (struct queue *q = dev->queues; q; q = q->next) {
		if (!q->is_suspended)
			did_any |= q->is_sdma ? sdma_step(q) : packet_step(q);
	}
	return did_any;
}

static void *processor(void *arg)
{
	struct device *dev = arg;
	uint64_t idle_since = 0;
	char name[16];

	snprintf(name, sizeof(name), "softgpu%u", dev->ordinal % 1000);
	pthread_setname_np(pthread_self(), name);
	prctl(PR_SET_TIMERSLACK, 1UL); /* else short sleeps take 50 us more */
	while (!__atomic_load_n(&dev->stop, __ATOMIC_ACQUIRE)) {
		bool did_any;

		pthread_mutex_lock(&dev->lock);
		did_any = run_queues(dev);
		pthread_mutex_unlock(&dev->lock);
		/* A mutex is not fair: let callers of the API in. */
		while (__atomic_load_n(&dev->api_waiting, __ATOMIC_ACQUIRE))
			sched_yield();
		if (did_any) {
			idle_since = 0;
			continue;
		}
		if (!idle_since)
			idle_since = mono_ns();
		rest(dev, mono_ns() - idle_since);
	}
	return NULL;
}

static void device_lock(struct device *dev)
{
	__atomic_add_fetch(&dev->api_waiting, 1, __ATOMIC_ACQ_REL);
	pthread_mutex_lock(&dev->lock);
	__atomic_sub_fetch(&dev->api_waiting, 1, __ATOMIC_ACQ_REL);
}

void queue_hold_all(void)
{
	for (uint32_t i = 0; i < softgpu_config.count; i++)
		device_lock(&softgpu_device[i]);
}

void queue_release_all(void)
{
	for (uint32_t i = softgpu_config.count; i-- > 0;)
		pthread_mutex_unlock(&softgpu_device[i].lock);
}

struct device *device_by_node(uint32_t node)
{
	if (node == 0 || node > softgpu_config.count)
		return NULL;
	return &softgpu_device[node - 1];
}

int queue_init_all(void)
{
	size_t bytes = SOFTGPU_QUEUES_MAX * DOORBELL_STRIDE * sizeof(uint64_t);

	doorbells = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (doorbells == MAP_FAILED)
		return -ENOMEM;
	memset(doorbell_used, 0, sizeof(doorbell_used));
	memset(slot_id, 0, sizeof(slot_id));
	next_queue_id = 1;
	next_ordinal = 0;
	kicks = 0;
	sleepers = 0;
	for (uint32_t i = 0; i < softgpu_config.count; i++) {
		struct device *dev = &softgpu_device[i];

		memset(dev, 0, sizeof(*dev));
		dev->ordinal = i;
		dev->node = i + 1;
		dev->gfx = softgpu_config.gfx[i];
		pthread_mutex_init(&dev->lock, NULL);
	}
	return 0;
}

static void queue_free(struct queue *q)
{
	if (q->state == QUEUE_MEETING)
		meet_leave(&q->meet);
	free(q->own_ptrs);
	free(q);
}

void queue_stop_all(void)
{
	for (uint32_t i = 0; i < softgpu_config.count; i++) {
		struct device *dev = &softgpu_device[i];

		__atomic_store_n(&dev->stop, 1, __ATOMIC_RELEASE);
	}
	queue_kick();
	for (uint32_t i = 0; i < softgpu_config.count; i++) {
		struct device *dev = &softgpu_device[i];

		if (dev->has_thread)
			pthread_join(dev->thread, NULL);
		while (dev->queues) {
			struct queue *q = dev->queues;

			dev->queues = q->next;
			queue_free(q);
		}
		kernel_cache_done(&dev->kernels);
		pthread_mutex_destroy(&dev->lock);
	}
	munmap(doorbells, SOFTGPU_QUEUES_MAX * DOORBELL_STRIDE * sizeof(uint64_t));
}

/* Signals are the application's business: none may run its handler here. */
static int start_thread(struct device *dev)
{
	sigset_t all, old;
	int err;

	if (dev->has_thread)
		return 0;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&dev->thread, NULL, processor, dev);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	dev->has_thread = err == 0;
	return -err;
}

static void give_back_slot(const struct queue *q)
{
	pthread_mutex_lock(&ids_lock);
	doorbell_used[q->slot] = false;
	__atomic_store_n(&slot_id[q->slot], 0, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&ids_lock);
}

static bool take_ids(struct queue *q)
{
	bool is_found = false;

	pthread_mutex_lock(&ids_lock);
	for (uint32_t i = 0; i < SOFTGPU_QUEUES_MAX && !is_found; i++) {
		if (!doorbell_used[i]) {
			doorbell_used[i] = true;
			q->slot = i;
			is_found = true;
		}
	}
	if (is_found) {
		/* The id contains the slot, for callers that ring by id. */
		q->id = next_queue_id++ * SOFTGPU_QUEUES_MAX + q->slot;
		q->ordinal = q->is_sdma ? 0 : next_ordinal++;
	}
	pthread_mutex_unlock(&ids_lock);
	q->doorbell = &doorbells[q->slot * DOORBELL_STRIDE];
	return is_found;
}

/* ROCr supplies the pointers of AQL queues, the thunk those of SDMA queues. */
static HSAKMT_STATUS set_pointers(struct queue *q, HsaQueueResource *res)
{
	if (!q->is_sdma) {
		q->read_ptr = res->Queue_read_ptr_aql;
		q->write_ptr = res->Queue_write_ptr_aql;
		if (!q->read_ptr || !q->write_ptr)
			return HSAKMT_STATUS_INVALID_PARAMETER;
		q->aql = (amd_queue_t *)((char *)q->read_ptr -
					 offsetof(amd_queue_t, read_dispatch_id));
		return HSAKMT_STATUS_SUCCESS;
	}
	q->own_ptrs = aligned_alloc(64, 128);
	if (!q->own_ptrs)
		return HSAKMT_STATUS_NO_MEMORY;
	memset(q->own_ptrs, 0, 128);
	q->read_ptr = &q->own_ptrs[0];
	q->write_ptr = &q->own_ptrs[8];
	res->Queue_read_ptr_aql = q->read_ptr;
	res->Queue_write_ptr_aql = q->write_ptr;
	return HSAKMT_STATUS_SUCCESS;
}

static void add_queue(struct device *dev, struct queue *q)
{
	struct queue **at = &dev->queues;

	while (*at)
		at = &(*at)->next;
	*at = q;
}

/* The engine that was named, or the next one that faces the host or other GPUs. */
static bool take_engine(struct queue *q, HSA_QUEUE_TYPE type, uint32_t engine)
{
	struct device *dev = q->dev;
	uint32_t first = type == HSA_QUEUE_SDMA_XGMI ? SOFTGPU_SDMA_ENGINES : 0;
	uint32_t count = first ? dev->gfx->xgmi_engines : SOFTGPU_SDMA_ENGINES;

	if (engine == QUEUE_ANY_ENGINE)
		engine = first +
			 __atomic_fetch_add(&dev->next_engine[first != 0], 1, __ATOMIC_RELAXED) %
				 count;
	q->engine = engine;
	return engine < SOFTGPU_SDMA_ENGINES + dev->gfx->xgmi_engines;
}

/* Places the queue on the device; releases its resources if there is no place. */
static HSAKMT_STATUS start_queue(struct queue *q, HsaQueueResource *res)
{
	struct device *dev = q->dev;
	int err;

	__atomic_store_n(q->doorbell, DOORBELL_NOT_RUNG, __ATOMIC_RELEASE);
	__atomic_store_n(&slot_id[q->slot], q->id, __ATOMIC_RELEASE);
	if (!q->is_sdma) {
		script_get_stall(q->ordinal, &q->stall);
		q->stat = truth_add_queue(q->id, q->ordinal, dev->ordinal);
		q->read_index = __atomic_load_n(q->read_ptr, __ATOMIC_RELAXED);
		q->limit = q->rung_limit = q->read_index;
	}
	res->QueueId = q->id;
	res->Queue_DoorBell_aql = q->doorbell;
	device_lock(dev);
	err = start_thread(dev);
	if (!err)
		add_queue(dev, q);
	pthread_mutex_unlock(&dev->lock);
	if (err) {
		give_back_slot(q);
		return HSAKMT_STATUS_OUT_OF_RESOURCES;
	}
	queue_kick();
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS queue_create(HSAuint32 node, HSA_QUEUE_TYPE type, uint32_t engine,
	HSAuint32 percentage, void *address, HSAuint64 bytes, HsaQueueResource *res)
{
	struct device *dev = device_by_node(node);
	bool is_sdma = type == HSA_QUEUE_SDMA || type == HSA_QUEUE_SDMA_XGMI;
	HSAKMT_STATUS status;
	struct queue *q;

	if (!address || !res || !bytes || (bytes & (bytes - 1)))
		return HSAKMT_STATUS_INVALID_PARAMETER;
	if (type != HSA_QUEUE_COMPUTE_AQL && !is_sdma)
		return HSAKMT_STATUS_NOT_SUPPORTED;
	if (softgpu_is_orphan() || !softgpu_is_open())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	if (!dev)
		return HSAKMT_STATUS_INVALID_NODE_UNIT;
	topology_report_ignored();
	q = calloc(1, sizeof(*q));
	if (!q)
		return HSAKMT_STATUS_NO_MEMORY;
	q->dev = dev;
	q->is_sdma = is_sdma;
	q->is_suspended = percentage == 0;
	q->is_idle = true;
	q->ring = address;
	q->ring_bytes = bytes;
	status = set_pointers(q, res);
	if (!status && is_sdma && !take_engine(q, type, engine))
		status = HSAKMT_STATUS_INVALID_PARAMETER;
	if (!status && !take_ids(q))
		status = HSAKMT_STATUS_OUT_OF_RESOURCES;
	if (!status)
		status = start_queue(q, res);
	if (status)
		queue_free(q);
	return status;
}

/*
 * Priorities are accepted and ignored: every queue has its own time line here. Events are the
 * runtime's.
 */
HSAKMT_STATUS hsaKmtCreateQueue(HSAuint32 node, HSA_QUEUE_TYPE type, HSAuint32 percentage,
	HSA_QUEUE_PRIORITY priority, void *address, HSAuint64 bytes, HsaEvent *event,
	HsaQueueResource *res)
{
	(void)priority;
	(void)event;
	return queue_create(node, type, QUEUE_ANY_ENGINE, percentage, address, bytes, res);
}

bool queue_ring(HSA_QUEUEID id)
{
	uint64_t slot = id % SOFTGPU_QUEUES_MAX;

	if (!id || __atomic_load_n(&slot_id[slot], __ATOMIC_ACQUIRE) != id)
		return false;
	/* Any value but DOORBELL_NOT_RUNG: the processor reads the write index. */
	__atomic_store_n(&doorbells[slot * DOORBELL_STRIDE], 0, __ATOMIC_RELEASE);
	return true;
}

/* Returns with the lock of the queue's device held, or NULL. */
static struct queue *find_locked(HSA_QUEUEID id, struct queue ***ret_at)
{
	for (uint32_t i = 0; i < softgpu_config.count; i++) {
		struct device *dev = &softgpu_device[i];

		device_lock(dev);
		for (struct queue **at = &dev->queues; *at; at = &(*at)->next) {
			if ((*at)->id == id) {
				*ret_at = at;
				return *at;
			}
		}
		pthread_mutex_unlock(&dev->lock);
	}
	return NULL;
}

HSAKMT_STATUS hsaKmtUpdateQueue(HSA_QUEUEID id, HSAuint32 percentage, HSA_QUEUE_PRIORITY priority,
	void *address, HSAuint64 bytes, HsaEvent *event)
{
	struct queue **at, *q;

	(void)priority;
	(void)address;
	(void)bytes;
	(void)event;
	if (softgpu_is_orphan())
		return HSAKMT_STATUS_SUCCESS;
	if (!softgpu_is_open())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	q = find_locked(id, &at);
	if (!q)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	q->is_suspended = percentage == 0;
	q->is_idle = true;
	pthread_mutex_unlock(&q->dev->lock);
	queue_kick();
	return HSAKMT_STATUS_SUCCESS;
}

/* What is running is dropped, as by a reset: its signals never change again. */
HSAKMT_STATUS hsaKmtDestroyQueue(HSA_QUEUEID id)
{
	struct queue **at, *q;

	if (softgpu_is_orphan())
		return HSAKMT_STATUS_SUCCESS;
	if (!softgpu_is_open())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	q = find_locked(id, &at);
	if (!q)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	*at = q->next;
	if (q->stat)
		__atomic_or_fetch(&q->stat->flags, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&q->dev->lock);
	give_back_slot(q);
	queue_free(q);
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtAllocQueueGWS(HSA_QUEUEID id, HSAuint32 count, HSAuint32 *first)
{
	(void)id;
	(void)count;
	if (first)
		*first = 0;
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtSetQueueCUMask(HSA_QUEUEID id, HSAuint32 bits, HSAuint32 *mask)
{
	(void)id;
	(void)bits;
	(void)mask;
	return HSAKMT_STATUS_SUCCESS;
}

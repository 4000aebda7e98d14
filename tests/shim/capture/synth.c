// SPDX-License-Identifier: MIT
#include "tests/shim/capture/synth.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "proto/base/clock.h"

struct synth synth = {.tick_mask = UINT64_MAX, .pause_ns = 50000};

static void die(const char *what)
{
	perror(what);
	abort();
}

static void *zeroed(size_t bytes)
{
	void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);

	if (!memory)
		die("aligned_alloc");
	return memset(memory, 0, bytes);
}

/* ---- signals --------------------------------------------------------------------------------- */

static amd_signal_t *signal_at(hsa_signal_t signal)
{
	return (amd_signal_t *)(uintptr_t)signal.handle;
}

hsa_signal_t synth_signal_new(int64_t value)
{
	amd_signal_t *signal = zeroed(sizeof(*signal));

	signal->kind = AMD_SIGNAL_KIND_USER;
	__atomic_store_n(&signal->value, value, __ATOMIC_RELEASE);
	atomic_fetch_add(&synth.signals_live, 1);
	return (hsa_signal_t){(uint64_t)(uintptr_t)signal};
}

void synth_signal_free(hsa_signal_t signal)
{
	atomic_fetch_sub(&synth.signals_live, 1);
	free(signal_at(signal));
}

int64_t synth_signal_load(hsa_signal_t signal)
{
	return __atomic_load_n(&signal_at(signal)->value, __ATOMIC_ACQUIRE);
}

static hsa_status_t signal_create(hsa_signal_value_t initial, uint32_t num_consumers,
	const hsa_agent_t *consumers, uint64_t attributes, hsa_signal_t *signal)
{
	if (num_consumers || consumers || attributes != HSA_AMD_SIGNAL_AMD_GPU_ONLY)
		return HSA_STATUS_ERROR_INVALID_ARGUMENT;
	*signal = synth_signal_new(initial);
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t signal_destroy(hsa_signal_t signal)
{
	synth_signal_free(signal);
	return HSA_STATUS_SUCCESS;
}

/* Not zeroed, as a runtime may do. */
static void *signal_memory_get(size_t bytes)
{
	void *memory = aligned_alloc(4096, bytes);

	if (!memory)
		die("aligned_alloc");
	atomic_fetch_add(&synth.signals_live, 1);
	return memset(memory, 0x5a, bytes);
}

static void signal_memory_put(void *memory)
{
	atomic_fetch_sub(&synth.signals_live, 1);
	free(memory);
}

void synth_signal_store(hsa_signal_t handle, int64_t value)
{
	amd_signal_t *signal = signal_at(handle);
	struct synth_queue *queue;

	queue = (struct synth_queue *)signal->queue_ptr;
	if (!queue) {
		__atomic_store_n(&signal->value, value, __ATOMIC_RELEASE);
		return;
	}
	if (queue->on_ring) {
		queue->on_ring(queue);
		return;
	}
	atomic_store(&queue->doorbell_value, (uint64_t)value);
	atomic_fetch_add(&queue->rings, 1);
}

static hsa_status_t profiler_enable(hsa_queue_t *queue, int enable)
{
	amd_queue_t *amd = (amd_queue_t *)queue;

	if (enable)
		amd->queue_properties |= AMD_QUEUE_PROPERTIES_ENABLE_PROFILING;
	return HSA_STATUS_SUCCESS;
}

/* Objects 1 .. 999 have a name, as if their code was loaded; others have none. */
static uint32_t symbol_of(uint64_t kernel_object)
{
	return kernel_object < 1000 ? (uint32_t)kernel_object : 0;
}

/*
 * One of them is in the first place of the table, so that both ways of dispatch_packet() are taken.
 */
static const struct symbol_entry known = {.kernel_object = 1, .id = 1};

static uint32_t symbol_define(uint64_t kernel_object)
{
	return (uint32_t)(1000 + kernel_object % 1000);
}

void synth_hsa(struct capture_hsa *ret)
{
	*ret = (struct capture_hsa){
		.signal_create = signal_create,
		.signal_destroy = signal_destroy,
		.signal_memory_get = signal_memory_get,
		.signal_memory_put = signal_memory_put,
		.signal_store_screlease = synth_signal_store,
		.set_profiler_enabled = profiler_enable,
		.symbol_of = symbol_of,
		.symbols = &known,
		.symbol_define = symbol_define,
	};
}

/* ---- queues ---------------------------------------------------------------------------------- */

struct synth_queue *synth_queue_new(uint32_t packets)
{
	struct synth_queue *queue = zeroed(sizeof(*queue));
	unsigned n = atomic_load(&synth.queues);

	queue->ring = zeroed(packets * sizeof(*queue->ring));
	for (uint32_t i = 0; i < packets; i++)
		queue->ring[i].header = HSA_PACKET_TYPE_INVALID;
	queue->doorbell.kind = AMD_SIGNAL_KIND_DOORBELL;
	queue->doorbell.queue_ptr = &queue->amd;
	queue->amd.hsa_queue.type = HSA_QUEUE_TYPE_MULTI;
	queue->amd.hsa_queue.base_address = queue->ring;
	queue->amd.hsa_queue.doorbell_signal.handle = (uint64_t)(uintptr_t)&queue->doorbell;
	queue->amd.hsa_queue.size = packets;
	queue->amd.hsa_queue.id = n + 1;
	queue->holds = SYNTH_HOLD_NONE;
	if (n == SYNTH_QUEUES_MAX)
		die("queues");
	synth.queue[n] = queue;
	atomic_store(&synth.queues, n + 1);
	return queue;
}

void synth_queue_free(struct synth_queue *queue)
{
	unsigned n = atomic_load(&synth.queues);

	for (unsigned i = 0; i < n; i++)
		if (synth.queue[i] == queue)
			synth.queue[i] = synth.queue[--n];
	atomic_store(&synth.queues, n);
	free(queue->exec);
	free(queue->ring);
	free(queue);
}

hsa_queue_t *synth_hsa_queue(struct synth_queue *queue)
{
	return &queue->amd.hsa_queue;
}

uint64_t synth_wdid(const struct synth_queue *queue)
{
	return __atomic_load_n(&queue->amd.write_dispatch_id, __ATOMIC_ACQUIRE);
}

/* ---- the processor --------------------------------------------------------------------------- */

/* A counter, or the clock; always later than the kernel before. */
static uint64_t tick_next(void)
{
	uint64_t now = synth.clock ? synth.clock() : 0;

	synth.tick += 7;
	if (synth.tick < now)
		synth.tick = now;
	return synth.tick;
}

static struct synth_exec *exec_new(struct synth_queue *queue)
{
	if (synth.is_forgetful && !queue->running)
		queue->execs = queue->first_running = 0;
	if (queue->execs == queue->capacity) {
		queue->capacity = queue->capacity ? 2 * queue->capacity : 1024;
		queue->exec = realloc(queue->exec, queue->capacity * sizeof(*queue->exec));
		if (!queue->exec)
			die("realloc");
	}
	return &queue->exec[queue->execs++];
}

static void signal_decrement(uint64_t handle)
{
	amd_signal_t *signal = (amd_signal_t *)(uintptr_t)handle;

	__atomic_fetch_sub(&signal->value, 1, __ATOMIC_RELEASE);
}

static void times_write(const struct synth_exec *exec)
{
	amd_signal_t *signal = (amd_signal_t *)(uintptr_t)exec->signal;

	__atomic_store_n(&signal->start_ts, exec->start, __ATOMIC_RELAXED);
	__atomic_store_n(&signal->end_ts, exec->end, __ATOMIC_RELEASE);
}

static void exec_complete(struct synth_queue *queue, size_t at)
{
	struct synth_exec *exec = &queue->exec[at];

	exec->is_done = true;
	queue->running--;
	atomic_fetch_add(&queue->executed, 1);
	if (!exec->signal)
		return;
	queue->timed++;
	exec->is_bad =
		!queue->has_countdowns && synth_signal_load((hsa_signal_t){exec->signal}) < 1;
	if (!queue->has_no_times && !queue->has_late_times)
		times_write(exec);
	if (queue->has_late_times)
		queue->late = at + 1;
	signal_decrement(exec->signal);
}

static void late_times_write(struct synth_queue *queue)
{
	if (queue->late)
		times_write(&queue->exec[queue->late - 1]);
	queue->late = 0;
}

/* In order, or the youngest first; at most @limit. */
static bool complete_some(struct synth_queue *queue, size_t limit)
{
	bool is_new = false;

	while (queue->running && limit--) {
		size_t at = queue->has_reordering ? queue->execs - 1 : queue->first_running;

		while (queue->exec[at].is_done || at >= queue->holds)
			if (queue->has_reordering ? at-- == queue->first_running
						  : ++at >= queue->execs)
				return is_new;
		late_times_write(queue);
		exec_complete(queue, at);
		is_new = true;
		while (queue->first_running < queue->execs &&
			queue->exec[queue->first_running].is_done)
			queue->first_running++;
	}
	return is_new;
}

static void exec_launch(struct synth_queue *queue, uint64_t index,
	const hsa_kernel_dispatch_packet_t *packet, uint64_t signal, uint16_t header)
{
	struct synth_exec *exec = exec_new(queue);
	uint64_t start = tick_next();
	uint64_t cookie = (uint64_t)(uintptr_t)packet->kernarg_address;
	uint64_t ticks = synth.takes_cookie ? cookie : index % 5;

	*exec = (struct synth_exec){
		.index = index,
		.kernel_object = packet->kernel_object,
		.signal = signal,
		.cookie = cookie,
		.start = start & synth.tick_mask,
		.end = (start + ticks) & synth.tick_mask,
		.grid = {packet->grid_size_x, packet->grid_size_y, packet->grid_size_z},
		.workgroup = {packet->workgroup_size_x, packet->workgroup_size_y,
			packet->workgroup_size_z},
		.lds = packet->group_segment_size,
		.scratch = packet->private_segment_size,
		.has_barrier = header >> HSA_PACKET_HEADER_BARRIER & 1,
	};
	queue->running++;
}

/* Consumes one packet. False if there is none, or if it has to wait for earlier ones. */
static bool consume(struct synth_queue *queue, uint64_t index, enum synth_mode mode)
{
	hsa_kernel_dispatch_packet_t *packet =
		&queue->ring[index & (queue->amd.hsa_queue.size - 1)];
	uint64_t signal = 0;
	uint16_t header;

	if (mode == SYNTH_TORN)
		signal = packet->completion_signal.handle;
	header = __atomic_load_n(&packet->header, __ATOMIC_ACQUIRE);
	if ((header & 0xff) == HSA_PACKET_TYPE_INVALID)
		return false;
	if ((header >> HSA_PACKET_HEADER_BARRIER & 1) && queue->running)
		return false;
	if (mode != SYNTH_TORN)
		signal = packet->completion_signal.handle;
	if ((header & 0xff) == HSA_PACKET_TYPE_KERNEL_DISPATCH ||
		((header & 0xff) == HSA_PACKET_TYPE_VENDOR_SPECIFIC &&
			(packet->setup & 0xff) == SYNTH_FORMAT_EXTENDED)) {
		exec_launch(queue, index, packet, signal, header);
	} else {
		queue->barriers++;
		if (signal)
			signal_decrement(signal);
	}
	__atomic_store_n(&packet->header, HSA_PACKET_TYPE_INVALID, __ATOMIC_RELEASE);
	__atomic_store_n(&queue->amd.read_dispatch_id, index + 1, __ATOMIC_RELEASE);
	return true;
}

bool synth_step(struct synth_queue *queue, enum synth_mode mode)
{
	uint64_t rings = atomic_load(&queue->rings);
	uint64_t read = queue->amd.read_dispatch_id;
	bool is_new = false;

	late_times_write(queue);
	if (mode != SYNTH_DOORBELL || rings != queue->rings_seen) {
		uint64_t bound = synth_wdid(queue);

		queue->rings_seen = rings;
		while (read < bound) {
			if (!consume(queue, read, mode)) {
				/* It waits for earlier packets: check again without a doorbell. */
				if (queue->running)
					queue->rings_seen = rings - 1;
				break;
			}
			read++;
			is_new = true;
			if (queue->running >= 64)
				complete_some(queue, 32);
		}
	}
	return complete_some(queue, SIZE_MAX) || is_new;
}

static void *processor(void *unused)
{
	const struct timespec pause = {.tv_nsec = synth.pause_ns};

	(void)unused;
	while (!atomic_load(&synth.stop)) {
		unsigned n = atomic_load(&synth.queues);
		bool is_new = false;

		for (unsigned i = 0; i < n; i++)
			is_new |= synth_step(synth.queue[i], synth.mode);
		if (!is_new)
			nanosleep(&pause, NULL); /* a small machine is shared with the producers */
	}
	return NULL;
}

void synth_start(enum synth_mode mode)
{
	pthread_t thread;

	synth.mode = mode;
	atomic_store(&synth.stop, false);
	if (pthread_create(&thread, NULL, processor, NULL))
		die("pthread_create");
	synth.thread = (unsigned long)thread;
	synth.has_thread = true;
}

void synth_stop(void)
{
	if (!synth.has_thread)
		return;
	atomic_store(&synth.stop, true);
	pthread_join((pthread_t)synth.thread, NULL);
	synth.has_thread = false;
}

// SPDX-License-Identifier: MIT
/*
 * The thunk alone, without ROCr: rings, doorbells and events driven by hand.
 * All code of this process is ours, so a thread sanitizer sees every access.
 */
#include "tests/softgpu/softgpu.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/test.h"

#define RING_PACKETS 64u
#define KMT_OK(call) assert_int_equal((call), HSAKMT_STATUS_SUCCESS)

struct ring {
	amd_queue_t amd;
	HsaQueueResource res;
	uint8_t *base;
};

static int setup(void **state)
{
	(void)state;
	KMT_OK(hsaKmtOpenKFD());
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	KMT_OK(hsaKmtCloseKFD());
	return 0;
}

static struct ring *ring_new(HSAuint32 node)
{
	struct ring *r = aligned_alloc(64, sizeof(*r) + 64 - sizeof(*r) % 64);

	assert_non_null(r);
	memset(r, 0, sizeof(*r));
	r->base = aligned_alloc(4096, RING_PACKETS * 64);
	assert_non_null(r->base);
	for (unsigned int i = 0; i < RING_PACKETS; i++)
		memcpy(r->base + (size_t)i * 64, &(uint32_t){HSA_PACKET_TYPE_INVALID}, 4);
	r->amd.queue_properties = AMD_QUEUE_PROPERTIES_ENABLE_PROFILING;
	r->amd.hsa_queue.id = 1234;
	r->res.Queue_read_ptr_aql = (HSAuint64 *)(uintptr_t)&r->amd.read_dispatch_id;
	r->res.Queue_write_ptr_aql = (HSAuint64 *)(uintptr_t)&r->amd.write_dispatch_id;
	KMT_OK(hsaKmtCreateQueue(node, HSA_QUEUE_COMPUTE_AQL, 100, HSA_QUEUE_PRIORITY_NORMAL,
		r->base, RING_PACKETS * 64, NULL, &r->res));
	assert_int_not_equal(r->res.QueueId, 0);
	return r;
}

static void ring_free(struct ring *r)
{
	KMT_OK(hsaKmtDestroyQueue(r->res.QueueId));
	free(r->base);
	free(r);
}

static uint64_t ring_put(struct ring *r, unsigned int type, const void *body, uint64_t signal)
{
	uint64_t at = __atomic_fetch_add(&r->amd.write_dispatch_id, 1, __ATOMIC_RELAXED);
	uint8_t *slot = r->base + at % RING_PACKETS * 64;

	while (at - __atomic_load_n(&r->amd.read_dispatch_id, __ATOMIC_ACQUIRE) >= RING_PACKETS)
		sched_yield();
	memset(slot + 4, 0, 60);
	if (body)
		memcpy(slot + 8, body, 40);
	memcpy(slot + 56, &signal, sizeof(signal));
	__atomic_store_n((uint32_t *)(void *)slot, type, __ATOMIC_RELEASE);
	__atomic_store_n(r->res.Queue_DoorBell_aql, at, __ATOMIC_RELEASE);
	return at;
}

static uint64_t handle(amd_signal_t *s)
{
	return (uintptr_t)s;
}

static void wait_value(amd_signal_t *s, int64_t value)
{
	while (__atomic_load_n(&s->value, __ATOMIC_ACQUIRE) != value)
		sched_yield();
}

struct producer {
	struct ring *r;
	amd_signal_t *s;
	int packets;
};

static void *produce(void *arg)
{
	struct producer *p = arg;

	for (int i = 0; i < p->packets; i++)
		ring_put(p->r, HSA_PACKET_TYPE_KERNEL_DISPATCH, NULL, handle(p->s));
	return NULL;
}

#define CASE(claim) TEST_CASE_BETWEEN(claim, setup, teardown)

CASE(producers_and_processors_do_not_race)
{
	enum { THREADS = 4, PACKETS = 3000 };
	pthread_t thread[THREADS];
	struct producer p[THREADS];
	amd_signal_t s[2] = {{.value = THREADS / 2 * PACKETS}, {.value = THREADS / 2 * PACKETS}};
	struct ring *r[2] = {ring_new(1), ring_new(2)};

	for (int i = 0; i < THREADS; i++) {
		p[i] = (struct producer){r[i & 1], &s[i & 1], PACKETS};
		assert_int_equal(pthread_create(&thread[i], NULL, produce, &p[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < 2; i++) {
		wait_value(&s[i], 0);
		assert_int_equal(s[i].end_ts - s[i].start_ts, 200);
		ring_free(r[i]);
	}
}

CASE(barriers_cross_gpus)
{
	struct ring *r[2] = {ring_new(1), ring_new(2)};

	for (int i = 0; i < 500; i++) {
		amd_signal_t s = {.value = 1}, done = {.value = 1};
		uint64_t dep[5] = {handle(&s)};

		ring_put(r[1], HSA_PACKET_TYPE_BARRIER_AND, dep, 0);
		ring_put(r[1], HSA_PACKET_TYPE_KERNEL_DISPATCH, NULL, handle(&done));
		ring_put(r[0], HSA_PACKET_TYPE_KERNEL_DISPATCH, NULL, handle(&s));
		wait_value(&done, 0);
		/* Each GPU has its own ticks, so only ns can be compared. */
		assert_true((done.start_ts - clock_tick_offset(2)) >=
			    (s.end_ts - clock_tick_offset(1)));
	}
	for (int i = 0; i < 2; i++)
		ring_free(r[i]);
}

CASE(unknown_packet_stops_its_queue_only)
{
	struct ring *r = ring_new(1), *other = ring_new(1);
	amd_signal_t s = {.value = 1}, t = {.value = 100};

	ring_put(r, 77, NULL, 0);
	ring_put(r, HSA_PACKET_TYPE_KERNEL_DISPATCH, NULL, handle(&s));
	for (int i = 0; i < 100; i++)
		ring_put(other, HSA_PACKET_TYPE_KERNEL_DISPATCH, NULL, handle(&t));
	wait_value(&t, 0);
	ring_free(r);
	assert_int_equal(s.value, 1);
	ring_free(other);
}

static HsaEvent *event_new(bool manual)
{
	HsaEventDescriptor d = {.EventType = HSA_EVENTTYPE_SIGNAL};
	HsaEvent *e = NULL;

	KMT_OK(hsaKmtCreateEvent(&d, manual, false, &e));
	assert_int_not_equal(e->EventId, 0);
	assert_int_not_equal(e->EventData.HWData2, 0);
	return e;
}

static void *wait_for_event(void *arg)
{
	return (void *)(uintptr_t)hsaKmtWaitOnEvent(arg, 60000);
}

CASE(event_wakes_all_waiters_and_is_consumed)
{
	HsaEvent *e = event_new(false);
	pthread_t thread[4];
	unsigned int live = 4;
	void *ret;

	/* Set before any thread waits: it stays set for one. */
	KMT_OK(hsaKmtSetEvent(e));
	KMT_OK(hsaKmtWaitOnEvent(e, 0));
	assert_int_equal(hsaKmtWaitOnEvent(e, 0), HSAKMT_STATUS_WAIT_TIMEOUT);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, wait_for_event, e), 0);
	while (live) {
		KMT_OK(hsaKmtSetEvent(e));
		if (pthread_tryjoin_np(thread[live - 1], &ret) == 0) {
			assert_int_equal((uintptr_t)ret, HSAKMT_STATUS_SUCCESS);
			live--;
		}
		sched_yield();
	}
	KMT_OK(hsaKmtDestroyEvent(e));
}

CASE(packet_interrupts_the_waiter)
{
	HsaEvent *e = event_new(false), *never = event_new(false);
	struct ring *r = ring_new(1);

	for (int i = 0; i < 200; i++) {
		amd_signal_t s = {.value = 1,
			.event_mailbox_ptr = e->EventData.HWData2,
			.event_id = e->EventId};
		HsaEvent *both[2] = {never, e};

		ring_put(r, HSA_PACKET_TYPE_KERNEL_DISPATCH, NULL, handle(&s));
		KMT_OK(hsaKmtWaitOnMultipleEvents(both, 2, false, 60000));
		assert_int_equal(__atomic_load_n(&s.value, __ATOMIC_ACQUIRE), 0);
		assert_int_equal(__atomic_load_n((uint64_t *)(uintptr_t)s.event_mailbox_ptr,
					 __ATOMIC_ACQUIRE),
			e->EventId);
	}
	assert_int_equal(hsaKmtWaitOnEvent(never, 0), HSAKMT_STATUS_WAIT_TIMEOUT);
	ring_free(r);
	KMT_OK(hsaKmtDestroyEvent(e));
	KMT_OK(hsaKmtDestroyEvent(never));
}

CASE(events_run_out_and_come_back)
{
	static HsaEvent *e[4096];
	HsaEventDescriptor d = {.EventType = HSA_EVENTTYPE_SIGNAL};
	HsaEvent *extra = NULL;

	for (int i = 0; i < 4096; i++)
		e[i] = event_new(true);
	assert_int_not_equal(hsaKmtCreateEvent(&d, true, false, &extra), HSAKMT_STATUS_SUCCESS);
	KMT_OK(hsaKmtDestroyEvent(e[77]));
	e[77] = event_new(true);
	for (int i = 0; i < 4096; i++)
		KMT_OK(hsaKmtDestroyEvent(e[i]));
	assert_int_not_equal(hsaKmtDestroyEvent(NULL), HSAKMT_STATUS_SUCCESS);
	assert_int_not_equal(hsaKmtSetEvent(NULL), HSAKMT_STATUS_SUCCESS);
	assert_int_not_equal(hsaKmtWaitOnEvent(NULL, 0), HSAKMT_STATUS_SUCCESS);
}

CASE(registrations_nest_under_one_alias)
{
	HSAuint64 alias = 0, again = 0;
	uint8_t *host = malloc(50000);
	HsaPointerInfo info;

	assert_non_null(host);
	assert_int_not_equal(hsaKmtQueryPointerInfo(host, &info), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(info.Type, HSA_POINTER_UNKNOWN);
	KMT_OK(hsaKmtRegisterMemory(host, 50000));
	KMT_OK(hsaKmtMapMemoryToGPU(host, 50000, &alias));
	assert_int_not_equal(alias, 0);
	assert_int_not_equal(alias, (uintptr_t)host);
	KMT_OK(hsaKmtRegisterMemory(host, 50000));
	KMT_OK(hsaKmtMapMemoryToGPU(host, 50000, &again));
	assert_int_equal(alias, again);
	assert_ptr_equal(memory_host(alias + 12345), host + 12345);
	KMT_OK(hsaKmtDeregisterMemory(host));
	assert_ptr_equal(memory_host(alias + 12345), host + 12345);
	KMT_OK(hsaKmtQueryPointerInfo((void *)(uintptr_t)(alias + 1), &info));
	assert_int_equal(info.Type, HSA_POINTER_REGISTERED_USER);
	assert_ptr_equal(info.CPUAddress, host);
	KMT_OK(hsaKmtDeregisterMemory(host));
	assert_ptr_equal(memory_host(alias), (void *)(uintptr_t)alias);
	free(host);
}

CASE(allocations_are_found_by_any_address)
{
	HsaMemFlags flags = {{.Value = 0}};
	struct mem_info mem;
	void *p[3];

	for (unsigned int i = 0; i < 3; i++)
		KMT_OK(hsaKmtAllocMemory(i, (i + 1) * (3u << 20), flags, &p[i]));
	for (unsigned int i = 0; i < 3; i++) {
		memset(p[i], 1, (i + 1) * (3u << 20));
		assert_true(memory_find((uintptr_t)p[i] + (2u << 20), &mem));
		assert_int_equal(mem.base, (uintptr_t)p[i]);
		assert_int_equal(mem.node, i);
		assert_int_equal((uintptr_t)p[i] % (2u << 20), 0);
	}
	assert_int_not_equal(hsaKmtFreeMemory((char *)p[0] + 4096, 4096), HSAKMT_STATUS_SUCCESS);
	for (unsigned int i = 0; i < 3; i++) {
		KMT_OK(hsaKmtFreeMemory(p[i], (i + 1) * (3u << 20)));
		assert_false(memory_find((uintptr_t)p[i], &mem));
	}
	assert_int_not_equal(hsaKmtFreeMemory(p[0], 3u << 20), HSAKMT_STATUS_SUCCESS);
}

CASE(suspended_queue_keeps_its_packets)
{
	struct ring *r = ring_new(1);
	amd_signal_t s = {.value = 1};

	KMT_OK(hsaKmtUpdateQueue(
		r->res.QueueId, 0, HSA_QUEUE_PRIORITY_NORMAL, r->base, RING_PACKETS * 64, NULL));
	ring_put(r, HSA_PACKET_TYPE_KERNEL_DISPATCH, NULL, handle(&s));
	assert_int_equal(__atomic_load_n(&r->amd.read_dispatch_id, __ATOMIC_ACQUIRE), 0);
	KMT_OK(hsaKmtUpdateQueue(
		r->res.QueueId, 100, HSA_QUEUE_PRIORITY_NORMAL, r->base, RING_PACKETS * 64, NULL));
	wait_value(&s, 0);
	ring_free(r);
}

/*
 * As with ROCr's threads: the one that waited for a signal destroys the event while the one that
 * stored the value is about to set it.
 */
CASE(event_may_be_set_after_its_end)
{
	HsaEvent *e = event_new(false), *next;

	KMT_OK(hsaKmtDestroyEvent(e));
	KMT_OK(hsaKmtSetEvent(e));
	next = event_new(false);
	assert_int_equal(hsaKmtWaitOnEvent(next, 0), HSAKMT_STATUS_WAIT_TIMEOUT);
	KMT_OK(hsaKmtDestroyEvent(next));
}

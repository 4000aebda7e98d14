// SPDX-License-Identifier: MIT
#include "tests/softgpu/softgpu.h"

#include <hsa/hsa_ext_amd.h>
#include <sched.h>
#include <string.h>

#define BATCH		256u /* packets per turn, so that other queues and API calls get theirs */
#define DOORBELL_EMPTY	UINT64_MAX
#define VENDOR_PM4	1u
#define VENDOR_BARRIER	2u /* HSA_AMD_PACKET_TYPE_BARRIER_VALUE */
#define PM4_SIGNAL_WORD 7u
#define TORN_PAUSES	64u /* 1 to 3 us */
#define MEETING_NAP_NS	200000u

uint64_t packet_tick(const struct queue *q, uint64_t ns)
{
	return clock_tick(q->dev->node, ns);
}

/*
 * A queue that was idle starts again now, unless its time line is ahead of the
 * wall's. In real time every packet does: it may have been submitted while the
 * processor overslept the end of the last one, and must not start before that.
 */
void packet_restart_clock(struct queue *q)
{
	uint64_t wall;

	if (!q->is_idle && !softgpu_config.is_realtime)
		return;
	wall = clock_wall_ns();
	if (q->now_ns < wall)
		q->now_ns = wall;
	q->is_idle = false;
}

static void set_due(struct queue *q, uint64_t ns)
{
	if (!q->dev->due_ns || ns < q->dev->due_ns)
		q->dev->due_ns = ns;
}

static bool has_profiling(const struct queue *q)
{
	return __atomic_load_n(&q->aql->queue_properties, __ATOMIC_RELAXED) &
	       AMD_QUEUE_PROPERTIES_ENABLE_PROFILING;
}

static void store64(volatile uint64_t *at, uint64_t value)
{
	__atomic_store_n(at, value, __ATOMIC_RELAXED);
}

static void write_ticks(struct queue *q, amd_signal_t *s)
{
	uint64_t start = packet_tick(q, q->start_ns), end = packet_tick(q, q->end_ns);

	if (!has_profiling(q))
		return;
	if (q->fault == FAULT_ZERO_TS)
		start = end = 0;
	store64(&s->start_ts, q->fault == FAULT_SWAPPED_TS ? end : start);
	store64(&s->end_ts, q->fault == FAULT_SWAPPED_TS ? start : end);
}

/* The end of a packet for the host: timestamps, value, mailbox, interrupt, in that order. */
static void signal_done(struct queue *q, uint64_t handle)
{
	amd_signal_t *s = (amd_signal_t *)(uintptr_t)handle;
	uint64_t mailbox;
	uint32_t event;

	if (!handle)
		return;
	/* The signal may be gone as soon as its value is seen. */
	mailbox = s->event_mailbox_ptr;
	event = s->event_id;
	if (q->fault == FAULT_VALUE_FIRST) {
		if (has_profiling(q))
			store64(&s->start_ts, packet_tick(q, q->start_ns));
	} else if (q->fault != FAULT_LATE_TS) {
		write_ticks(q, s);
	}
	/*
	 * In real time, a thread that waits for the signal sees it when the kernel has ended by the
	 * wall clock, which is also its own time.
	 */
	if (!softgpu_config.is_realtime)
		clock_put_signal(handle, q->end_ns);
	__atomic_sub_fetch(&s->value, 1, __ATOMIC_RELEASE);
	if (mailbox) {
		__atomic_store_n((uint64_t *)(uintptr_t)mailbox, event, __ATOMIC_RELEASE);
		event_set_by_id(event);
	}
}

static uint64_t completion_of(const struct queue *q)
{
	uint16_t header = q->packet.dispatch.header;
	unsigned int type = header & 0xff;

	/* PM4 packets have their signal at the same place as all others. */
	return type == HSA_PACKET_TYPE_INVALID ? 0 : q->packet.words[PM4_SIGNAL_WORD];
}

/* `packet` has run from start_ns to end_ns. */
static void finish(struct queue *q)
{
	q->now_ns = q->end_ns;
	if (q->record) {
		q->record->end_tick = packet_tick(q, q->end_ns);
		truth_publish(q->record, SOFTGPU_TRUTH_DONE);
		q->record = NULL;
	}
	if (q->stat && (q->packet.dispatch.header & 0xff) == HSA_PACKET_TYPE_KERNEL_DISPATCH)
		truth_count(&q->stat->ended, 1);
	signal_done(q, completion_of(q));
	q->state = QUEUE_READY;
	if (completion_of(q) && (q->fault == FAULT_LATE_TS || q->fault == FAULT_VALUE_FIRST)) {
		q->state = QUEUE_LATE;
		q->due_ns = clock_wall_ns() + q->delay_ns;
	}
}

/* Slots are given back when a packet is launched, not when it has completed. */
static void release_slot(struct queue *q)
{
	uint64_t slots = q->ring_bytes / sizeof(q->packet);
	uint16_t *header = (uint16_t *)(q->ring + q->packet_index % slots * sizeof(q->packet));

	__atomic_store_n(header, HSA_PACKET_TYPE_INVALID, __ATOMIC_RELEASE);
	q->read_index = q->packet_index + 1;
	__atomic_store_n(q->read_ptr, q->read_index, __ATOMIC_RELEASE);
}

/* `packet` will have run when end_ns has come. */
static void run(struct queue *q)
{
	if (softgpu_config.is_realtime && q->end_ns > q->start_ns) {
		q->state = QUEUE_RUNNING;
		q->due_ns = q->end_ns;
		return;
	}
	finish(q);
}

static void launch(struct queue *q, uint64_t duration_ns)
{
	q->start_ns = q->now_ns;
	q->end_ns = q->now_ns + duration_ns;
	run(q);
}

/* True: `packet` runs or has run. */
static bool try_meeting(struct queue *q)
{
	bool is_short;

	if (!meet_poll(&q->meet, &q->end_ns, &is_short)) {
		set_due(q, clock_wall_ns() + MEETING_NAP_NS);
		return false;
	}
	if (is_short && q->record)
		q->record->flags |= SOFTGPU_TRUTH_SHORT;
	run(q);
	return true;
}

static void launch_meeting(
	struct queue *q, const struct kernel *k, const struct script_result *script)
{
	const struct meet_arrival a = {.gpu = q->dev->ordinal,
		.size = script->meet,
		.start_ns = q->now_ns,
		.duration_ns = script->duration_ns};

	if (!meet_arrive(k->name, &a, &q->meet)) {
		if (q->record)
			q->record->flags |= SOFTGPU_TRUTH_SHORT;
		launch(q, script->duration_ns);
		return;
	}
	q->start_ns = q->now_ns;
	q->state = QUEUE_MEETING;
	try_meeting(q);
}

static uint32_t flags_of(const struct queue *q, const struct kernel *k, enum fault_kind fault)
{
	uint32_t flags = k ? k->truth_flags : SOFTGPU_TRUTH_NAME_UNKNOWN;

	if (fault != FAULT_NONE)
		flags |= 1u << (fault - 1);
	if (!q->packet.dispatch.completion_signal.handle)
		flags |= SOFTGPU_TRUTH_NO_SIGNAL;
	if (!has_profiling(q))
		flags |= SOFTGPU_TRUTH_NO_PROFILE;
	if (q->is_early)
		flags |= SOFTGPU_TRUTH_EARLY;
	return flags;
}

/* At launch, so that a kernel which never ends, or is killed half-way, is on record. */
static void record_launch(struct queue *q, const struct kernel *k, uint64_t ordinal)
{
	const hsa_kernel_dispatch_packet_t *p = &q->packet.dispatch;
	struct softgpu_truth_record *r = truth_reserve();

	if (q->stat) {
		truth_count(&q->stat->launched, 1);
		truth_count(&q->stat->never, q->fault == FAULT_NEVER);
		truth_count(&q->stat->signaled, p->completion_signal.handle != 0);
		store64(&q->stat->hsa_queue_id, q->aql->hsa_queue.id);
	}
	q->record = r;
	if (!r)
		return;
	r->flags = flags_of(q, k, q->fault);
	r->gpu = q->dev->ordinal;
	r->node = q->dev->node;
	r->queue_id = q->id;
	r->hsa_queue_id = q->aql->hsa_queue.id;
	r->queue_ordinal = q->ordinal;
	r->name = k ? k->truth_name : 0;
	r->packet = q->packet_index;
	r->kernel_object = p->kernel_object;
	r->signal = p->completion_signal.handle;
	r->start_tick = packet_tick(q, q->now_ns);
	r->grid[0] = p->grid_size_x;
	r->grid[1] = p->grid_size_y;
	r->grid[2] = p->grid_size_z;
	r->workgroup[0] = p->workgroup_size_x;
	r->workgroup[1] = p->workgroup_size_y;
	r->workgroup[2] = p->workgroup_size_z;
	r->ordinal = ordinal;
	truth_publish(r, SOFTGPU_TRUTH_RUNNING);
}

static void run_dispatch(struct queue *q)
{
	struct kernel *k =
		kernel_get(&q->dev->kernels, q->packet.dispatch.kernel_object, q->dev->ordinal);
	struct script_result script = {.duration_ns = SOFTGPU_TICK_NS};
	uint64_t ordinal = 0;

	if (k) {
		ordinal = k->launched++;
		if (k->is_fixed)
			script = k->fixed;
		else
			script_eval(&k->match, ordinal, &script);
		if (k->emulation != EMULATE_NONE)
			blit_run(k, &q->packet.dispatch);
	}
	q->fault = script.fault;
	q->delay_ns = script.delay_ns;
	record_launch(q, k, ordinal);
	release_slot(q);
	if (q->fault == FAULT_NEVER) {
		q->record = NULL;
		q->state = QUEUE_STUCK;
		return;
	}
	if (script.meet)
		launch_meeting(q, k, &script);
	else
		launch(q, script.duration_ns);
}

static int64_t load_signal(hsa_signal_t signal)
{
	return __atomic_load_n(
		&((amd_signal_t *)(uintptr_t)signal.handle)->value, __ATOMIC_ACQUIRE);
}

static void raise_clock(struct queue *q, hsa_signal_t signal)
{
	uint64_t ns = clock_get_signal(signal.handle);

	if (ns > q->now_ns)
		q->now_ns = ns;
}

/* An AND waits for all of its signals to be 0, an OR for one; neither for null handles. */
static bool is_barrier_met(struct queue *q, bool needs_all)
{
	const hsa_barrier_and_packet_t *p = &q->packet.barrier;
	unsigned int met = 0, given = 0;

	for (unsigned int i = 0; i < 5; i++) {
		if (!p->dep_signal[i].handle)
			continue;
		given++;
		met += load_signal(p->dep_signal[i]) == 0;
	}
	if (needs_all ? met < given : given && !met)
		return false;
	for (unsigned int i = 0; i < 5; i++) {
		if (p->dep_signal[i].handle && load_signal(p->dep_signal[i]) == 0)
			raise_clock(q, p->dep_signal[i]);
	}
	return true;
}

static bool is_value_met(struct queue *q)
{
	const hsa_amd_barrier_value_packet_t *p =
		(const hsa_amd_barrier_value_packet_t *)&q->packet;
	int64_t v;
	bool is_met;

	if (!p->signal.handle)
		return true;
	v = load_signal(p->signal) & p->mask;
	switch (p->cond) {
	case HSA_SIGNAL_CONDITION_EQ:
		is_met = v == p->value;
		break;
	case HSA_SIGNAL_CONDITION_NE:
		is_met = v != p->value;
		break;
	case HSA_SIGNAL_CONDITION_LT:
		is_met = v < p->value;
		break;
	default:
		is_met = v >= p->value;
		break;
	}
	if (is_met)
		raise_clock(q, p->signal);
	return is_met;
}

static void finish_barrier(struct queue *q)
{
	q->fault = FAULT_NONE;
	if (q->stat)
		truth_count(&q->stat->other, 1);
	release_slot(q);
	launch(q, 0);
}

/* `packet` was fetched and not launched yet. False if it has to wait. */
static bool try_packet(struct queue *q)
{
	unsigned int type = q->packet.dispatch.header & 0xff;
	bool is_met;

	switch (type) {
	case HSA_PACKET_TYPE_KERNEL_DISPATCH:
		run_dispatch(q);
		return true;
	case HSA_PACKET_TYPE_BARRIER_AND:
	case HSA_PACKET_TYPE_BARRIER_OR:
		is_met = is_barrier_met(q, type == HSA_PACKET_TYPE_BARRIER_AND);
		break;
	case HSA_PACKET_TYPE_VENDOR_SPECIFIC:
		if (q->packet.bytes[2] == VENDOR_BARRIER) {
			is_met = is_value_met(q);
			break;
		}
		if (q->packet.bytes[2] == VENDOR_PM4) {
			is_met = true; /* cache maintenance: nothing to do */
			break;
		}
		/* fall through */
	default:
		/* Real queues go into error; this one stops, visibly, and is not resumed. */
		if (q->stat)
			__atomic_or_fetch(&q->stat->flags, 2, __ATOMIC_RELAXED);
		q->state = QUEUE_STUCK;
		return true;
	}
	if (is_met) {
		finish_barrier(q);
	} else {
		q->state = QUEUE_BLOCKED;
		q->is_idle = true; /* time passes while it waits */
	}
	return is_met;
}

/* How far the doorbell, or eagerness, lets us go. */
static void update_limit(struct queue *q)
{
	/* The value means nothing: racing producers may leave a lower one. Taking it resets it. */
	if (__atomic_load_n(q->doorbell, __ATOMIC_ACQUIRE) != DOORBELL_EMPTY &&
		__atomic_exchange_n(q->doorbell, DOORBELL_EMPTY, __ATOMIC_ACQ_REL) !=
			DOORBELL_EMPTY) {
		q->rung_limit = __atomic_load_n(q->write_ptr, __ATOMIC_ACQUIRE);
		q->limit = q->rung_limit;
	}
	if (softgpu_config.eager)
		q->limit = __atomic_load_n(q->write_ptr, __ATOMIC_ACQUIRE);
}

static bool is_stalled(struct queue *q)
{
	uint64_t pending = __atomic_load_n(q->write_ptr, __ATOMIC_ACQUIRE) - q->read_index;
	uint64_t wall;

	if (!q->stall.until_pending && !q->stall.for_ns)
		return false;
	if (!pending)
		return true;
	if (q->stall.until_pending && pending >= q->stall.until_pending)
		q->stall.until_pending = 0;
	if (q->stall.for_ns) {
		wall = clock_wall_ns();
		if (!q->first_seen_ns)
			q->first_seen_ns = wall;
		if (wall - q->first_seen_ns >= q->stall.for_ns)
			q->stall.for_ns = 0;
		else
			set_due(q, q->first_seen_ns + q->stall.for_ns);
	}
	return q->stall.until_pending || q->stall.for_ns;
}

static bool is_ahead_of_doorbell(struct queue *q)
{
	if ((int64_t)(q->rung_limit - q->packet_index) <= 0)
		update_limit(q); /* the doorbell may have come since we looked */
	return (int64_t)(q->rung_limit - q->packet_index) <= 0;
}

/* Copies the next packet if there is one below the limit that is published. */
static bool fetch(struct queue *q)
{
	uint64_t slots = q->ring_bytes / sizeof(q->packet), torn_signal;
	uint8_t *slot = q->ring + q->read_index % slots * sizeof(q->packet);
	uint32_t head;

	if ((int64_t)(q->limit - q->read_index) <= 0) {
		update_limit(q);
		if ((int64_t)(q->limit - q->read_index) <= 0)
			return false;
	}
	head = __atomic_load_n((uint32_t *)slot, __ATOMIC_ACQUIRE);
	if ((head & 0xff) == HSA_PACKET_TYPE_INVALID)
		return false;
	q->packet_index = q->read_index;
	q->is_early = is_ahead_of_doorbell(q);
	/*
	 * A fetch in two parts of different age. Only of a valid packet, else it
	 * would break every application; so what is lost was stored too late.
	 */
	torn_signal = __atomic_load_n((uint64_t *)(slot + 56), __ATOMIC_RELAXED);
	if (softgpu_config.eager == 2 && q->is_early) {
		queue_relax(TORN_PAUSES);
		(void)sched_yield(); /* the writing thread may have no other processor */
	}
	head = __atomic_load_n((uint32_t *)slot, __ATOMIC_ACQUIRE);
	memcpy(&q->packet, slot, sizeof(q->packet));
	memcpy(&q->packet, &head, sizeof(head));
	if (softgpu_config.eager == 2 && q->is_early)
		q->packet.dispatch.completion_signal.handle = torn_signal;
	return true;
}

/* Continues what was begun earlier. True if the queue may take its next packet. */
static bool resume(struct queue *q)
{
	switch (q->state) {
	case QUEUE_READY:
		return true;
	case QUEUE_BLOCKED:
		packet_restart_clock(q);
		q->state = QUEUE_READY;
		return try_packet(q) && q->state == QUEUE_READY;
	case QUEUE_MEETING:
		return try_meeting(q) && q->state == QUEUE_READY;
	case QUEUE_RUNNING:
		if (clock_wall_ns() < q->due_ns) {
			set_due(q, q->due_ns);
			return false;
		}
		finish(q);
		return q->state == QUEUE_READY;
	case QUEUE_LATE:
		if (clock_wall_ns() < q->due_ns) {
			set_due(q, q->due_ns);
			return false;
		}
		write_ticks(q, (amd_signal_t *)(uintptr_t)completion_of(q));
		q->state = QUEUE_READY;
		return true;
	case QUEUE_STUCK:
		return false;
	}
	return false;
}

bool packet_step(struct queue *q)
{
	bool did_any = q->state != QUEUE_READY;

	if (!resume(q))
		return did_any && q->state == QUEUE_READY;
	if (is_stalled(q))
		return did_any;
	for (unsigned int n = 0; n < BATCH && q->state == QUEUE_READY; n++) {
		if (!fetch(q)) {
			q->is_idle = true;
			break;
		}
		packet_restart_clock(q);
		did_any = true;
		if (!try_packet(q))
			break;
	}
	return did_any;
}

// SPDX-License-Identifier: MIT
#include "tests/softgpu/softgpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EVENTS_MAX	      4096u /* KFD_SIGNAL_EVENT_LIMIT */
#define TIMEOUT_FOREVER_MS    0xfffffffeu
/*
 * ROCr shares one auto-reset event between all queues. Its event thread can consume the event that
 * hsa_queue_destroy is about to wait for, for ever (KFD got event ages against that, long after
 * 5.2.3). So no wait here is endless: ROCr checks again whenever a wait returns, whatever it
 * returns.
 */
#define TIMEOUT_LOOK_AGAIN_MS 50u

struct waiter;

struct wait_link {
	struct wait_link *next;
	struct waiter *waiter;
	bool is_active; /* its event was set while we waited, or before */
};

struct waiter {
	pthread_cond_t cond;
};

struct event {
	HsaEvent pub; /* first: ROCr holds the address of this */
	bool is_used; /* between its creation and its end */
	bool is_auto_reset;
	bool is_set;
	struct wait_link *links;
};

/*
 * Indexed by event id; 0 is none. Events are few and critical sections short, so there is one lock
 * for all. Events stay in place after their end: a thread that waits for a signal of ROCr sees the
 * value and destroys the event while the thread that stored the value is still about to set it. KFD
 * takes an id there, so at worst another event is set once too often.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct event events[EVENTS_MAX + 1];
static uint32_t next_id = 1;
static uint64_t mailbox[EVENTS_MAX + 1]; /* where packet processors store the event id */

static void set_locked(struct event *e)
{
	/* As in KFD: all current waiters wake; the event stays set only if there was none. */
	e->is_set = !e->is_auto_reset || !e->links;
	for (struct wait_link *l = e->links; l; l = l->next) {
		l->is_active = true;
		pthread_cond_signal(&l->waiter->cond);
	}
}

void event_set_by_id(uint32_t id)
{
	if (id == 0 || id > EVENTS_MAX)
		return;
	pthread_mutex_lock(&lock);
	if (events[id].is_used)
		set_locked(&events[id]);
	pthread_mutex_unlock(&lock);
}

void event_reset_all(void)
{
	pthread_mutex_lock(&lock);
	for (uint32_t i = 1; i <= EVENTS_MAX; i++)
		events[i].is_used = false;
	next_id = 1;
	pthread_mutex_unlock(&lock);
}

/* The id of an event that is not in use and has no sleeper, or 0; ids are used in turn. */
static uint32_t free_id_locked(void)
{
	for (uint32_t i = 0; i < EVENTS_MAX; i++) {
		uint32_t id = next_id;

		next_id = next_id == EVENTS_MAX ? 1 : next_id + 1;
		if (!events[id].is_used && !events[id].links)
			return id;
	}
	return 0;
}

HSAKMT_STATUS hsaKmtCreateEvent(
	HsaEventDescriptor *desc, bool manual_reset, bool is_signaled, HsaEvent **ret)
{
	uint32_t id;

	if (!desc || !ret)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	if (softgpu_is_orphan() || !softgpu_is_open())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	topology_report_ignored();
	pthread_mutex_lock(&lock);
	id = free_id_locked();
	if (id) {
		struct event *e = &events[id];

		*e = (struct event){
			.is_used = true, .is_auto_reset = !manual_reset, .is_set = is_signaled};
		e->pub.EventId = id;
		e->pub.EventData.EventType = desc->EventType;
		e->pub.EventData.HWData1 = id;
		e->pub.EventData.HWData2 = (uintptr_t)&mailbox[id];
		if (desc->EventType == HSA_EVENTTYPE_SIGNAL)
			e->pub.EventData.EventData.SyncVar = desc->SyncVar;
		*ret = &e->pub;
	}
	pthread_mutex_unlock(&lock);
	return id ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_OUT_OF_RESOURCES;
}

HSAKMT_STATUS hsaKmtDestroyEvent(HsaEvent *event)
{
	if (!event)
		return HSAKMT_STATUS_INVALID_HANDLE;
	if (softgpu_is_orphan())
		return HSAKMT_STATUS_SUCCESS;
	pthread_mutex_lock(&lock);
	((struct event *)event)->is_used = false;
	pthread_mutex_unlock(&lock);
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtSetEvent(HsaEvent *event)
{
	if (!event)
		return HSAKMT_STATUS_INVALID_HANDLE;
	if (softgpu_is_orphan())
		return HSAKMT_STATUS_SUCCESS;
	pthread_mutex_lock(&lock);
	set_locked((struct event *)event);
	pthread_mutex_unlock(&lock);
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtResetEvent(HsaEvent *event)
{
	if (!event)
		return HSAKMT_STATUS_INVALID_HANDLE;
	pthread_mutex_lock(&lock);
	((struct event *)event)->is_set = false;
	pthread_mutex_unlock(&lock);
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtQueryEventState(HsaEvent *event)
{
	bool is_set;

	if (!event)
		return HSAKMT_STATUS_INVALID_HANDLE;
	pthread_mutex_lock(&lock);
	is_set = ((struct event *)event)->is_set;
	pthread_mutex_unlock(&lock);
	return is_set ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_WAIT_TIMEOUT;
}

static void unlink_waiter(struct event *e, struct wait_link *link)
{
	for (struct wait_link **at = &e->links; *at; at = &(*at)->next) {
		if (*at == link) {
			*at = link->next;
			return;
		}
	}
}

static bool is_done(const struct wait_link *link, HSAuint32 count, bool all)
{
	for (HSAuint32 i = 0; i < count; i++) {
		if (link[i].is_active != all)
			return !all;
	}
	return all;
}

static bool wait_locked(
	struct waiter *w, const struct wait_link *link, HSAuint32 count, bool all, HSAuint32 ms)
{
	struct timespec ts;

	if (ms >= TIMEOUT_FOREVER_MS)
		ms = TIMEOUT_LOOK_AGAIN_MS;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_sec += ms / 1000;
	ts.tv_nsec += (long)(ms % 1000) * 1000000;
	if (ts.tv_nsec >= 1000000000) {
		ts.tv_sec++;
		ts.tv_nsec -= 1000000000;
	}
	while (!is_done(link, count, all)) {
		if (pthread_cond_timedwait(&w->cond, &lock, &ts) == ETIMEDOUT)
			return is_done(link, count, all);
	}
	return true;
}

HSAKMT_STATUS hsaKmtWaitOnMultipleEvents(
	HsaEvent *list[], HSAuint32 count, bool wait_on_all, HSAuint32 ms)
{
	struct wait_link few[16], *link = few;
	pthread_condattr_t attr;
	struct waiter w;
	bool is_met;

	if (!list || !count)
		return HSAKMT_STATUS_INVALID_HANDLE;
	for (HSAuint32 i = 0; i < count; i++) {
		if (!list[i])
			return HSAKMT_STATUS_INVALID_HANDLE;
	}
	if (softgpu_is_orphan())
		return HSAKMT_STATUS_WAIT_FAILURE;
	if (count > sizeof(few) / sizeof(few[0])) {
		link = calloc(count, sizeof(*link));
		if (!link)
			return HSAKMT_STATUS_NO_MEMORY;
	}
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w.cond, &attr);
	pthread_condattr_destroy(&attr);
	/* The waiting thread may just have rung a doorbell, which does not wake a processor. */
	queue_kick();

	pthread_mutex_lock(&lock);
	for (HSAuint32 i = 0; i < count; i++) {
		struct event *e = (struct event *)list[i];

		link[i] = (struct wait_link){e->links, &w, e->is_set};
		e->links = &link[i];
		if (e->is_auto_reset)
			e->is_set = false;
	}
	is_met = wait_locked(&w, link, count, wait_on_all, ms);
	for (HSAuint32 i = 0; i < count; i++)
		unlink_waiter((struct event *)list[i], &link[i]);
	pthread_mutex_unlock(&lock);

	pthread_cond_destroy(&w.cond);
	if (link != few)
		free(link);
	return is_met ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_WAIT_TIMEOUT;
}

HSAKMT_STATUS hsaKmtWaitOnEvent(HsaEvent *event, HSAuint32 ms)
{
	return hsaKmtWaitOnMultipleEvents(&event, 1, true, ms);
}

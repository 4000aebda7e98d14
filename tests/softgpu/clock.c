// SPDX-License-Identifier: MIT
#include "tests/softgpu/softgpu.h"

#include <string.h>
#include <time.h>

/*
 * Signals that were completed on a virtual time line, with the time. A set of four per hash: the
 * oldest entry is replaced.
 */
#define VTIME_SHARDS 256u
#define VTIME_SETS   64u /* per shard */
#define VTIME_WAYS   4u

struct vtime_entry {
	uint64_t signal;
	uint64_t end_ns;
};

static struct vtime_shard {
	pthread_mutex_t lock;
	struct vtime_entry set[VTIME_SETS][VTIME_WAYS];
} vtime[VTIME_SHARDS];

/* Set while nothing runs. */
static uint64_t clock_opened_ns;

static pthread_once_t vtime_once = PTHREAD_ONCE_INIT;

static void vtime_init(void)
{
	for (uint32_t i = 0; i < VTIME_SHARDS; i++)
		pthread_mutex_init(&vtime[i].lock, NULL);
}

uint64_t clock_wall_ns(void)
{
	struct timespec ts;
	uint64_t ns;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	ns = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	/* Rounded down, so that (tick, ns) pairs lie on one line exactly. */
	return ns - ns % SOFTGPU_TICK_NS;
}

/* Far apart, so that ticks of the wrong GPU are noticed; never 0 for a GPU. */
uint64_t clock_tick_offset(uint32_t node)
{
	return (uint64_t)node * 7000000000007u;
}

/* The counter with the script's drift and step, counted from the opening of the device. */
uint64_t clock_tick(uint32_t node, uint64_t ns)
{
	uint64_t tick = ns / SOFTGPU_TICK_NS + clock_tick_offset(node);
	int64_t elapsed_ns = (int64_t)(ns - clock_opened_ns);
	struct script_clock script;

	if (!node)
		return tick;
	script_get_clock(node - 1, &script);
	tick += (uint64_t)(elapsed_ns / (int64_t)SOFTGPU_TICK_NS * script.drift_ppm / 1000000);
	if (script.step_ns && elapsed_ns >= (int64_t)script.after_ns)
		tick += (uint64_t)(script.step_ns / (int64_t)SOFTGPU_TICK_NS);
	return tick;
}

void clock_reset_vtime(void)
{
	clock_opened_ns = clock_wall_ns();
	pthread_once(&vtime_once, vtime_init);
	for (uint32_t i = 0; i < VTIME_SHARDS; i++) {
		pthread_mutex_lock(&vtime[i].lock);
		memset(vtime[i].set, 0, sizeof(vtime[i].set));
		pthread_mutex_unlock(&vtime[i].lock);
	}
}

static struct vtime_shard *vtime_find(uint64_t signal, struct vtime_entry **ret_set)
{
	uint64_t h = (signal >> 6) * 0x9e3779b97f4a7c15u;
	struct vtime_shard *shard = &vtime[(h >> 56) % VTIME_SHARDS];

	*ret_set = shard->set[(h >> 40) % VTIME_SETS];
	return shard;
}

void clock_put_signal(uint64_t signal, uint64_t end_ns)
{
	struct vtime_entry *set, *victim;
	struct vtime_shard *shard = vtime_find(signal, &set);

	pthread_mutex_lock(&shard->lock);
	victim = &set[0];
	for (uint32_t i = 0; i < VTIME_WAYS; i++) {
		if (set[i].signal == signal) {
			victim = &set[i];
			break;
		}
		if (set[i].end_ns < victim->end_ns)
			victim = &set[i];
	}
	victim->signal = signal;
	victim->end_ns = end_ns;
	pthread_mutex_unlock(&shard->lock);
}

uint64_t clock_get_signal(uint64_t signal)
{
	struct vtime_entry *set;
	struct vtime_shard *shard = vtime_find(signal, &set);
	uint64_t ret = 0;

	pthread_mutex_lock(&shard->lock);
	for (uint32_t i = 0; i < VTIME_WAYS; i++) {
		if (set[i].signal == signal)
			ret = set[i].end_ns;
	}
	pthread_mutex_unlock(&shard->lock);
	return ret;
}

HSAKMT_STATUS hsaKmtGetClockCounters(HSAuint32 node, HsaClockCounters *counters)
{
	uint64_t ns;

	if (!counters)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	if (node > softgpu_config.count)
		return HSAKMT_STATUS_INVALID_NODE_UNIT;
	/* One reading for all of them: ROCr fits a line through such tuples. */
	ns = clock_wall_ns();
	counters->GPUClockCounter = clock_tick(node, ns);
	counters->CPUClockCounter = ns;
	counters->SystemClockCounter = ns;
	counters->SystemClockFrequencyHz = 1000000000u;
	return HSAKMT_STATUS_SUCCESS;
}

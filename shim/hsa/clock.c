/* SPDX-License-Identifier: MIT */
#include "shim/hsa/clock.h"
#include "shim/base/glibc_compat.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "shim/base/fd.h"
#include "shim/base/process/loaded_library.h"

/* HsaClockCounters of the thunk. Its headers are packed to 4 bytes, which changes nothing here. */
struct thunk_counters {
	uint64_t gpu;
	uint64_t cpu;	 /* MONOTONIC_RAW */
	uint64_t system; /* BOOTTIME */
	uint64_t system_hz;
};

/*
 * Declared here because linux/kfd_ioctl.h needs libdrm's headers. This is KFD's oldest call and has
 * never changed.
 */
struct kfd_counters {
	uint64_t gpu;
	uint64_t cpu;
	uint64_t system;
	uint64_t system_hz;
	uint32_t gpu_id;
	uint32_t pad;
};
#define KFD_GET_CLOCK_COUNTERS _IOWR('K', 0x05, struct kfd_counters)

/*
 * HSA_AMD_AGENT_INFO_CLOCK_COUNTERS, which the headers we build with lack; same layout as the
 * thunk's.
 */
#define AGENT_CLOCK_COUNTERS ((hsa_agent_info_t)0xA118)
/* Leaves room for a runtime that writes more than the known members. */
union agent_counters {
	struct thunk_counters known;
	unsigned char bytes[256];
};

/* Crystal frequencies of AMD GPUs; a reading over a millisecond is good to some 0.2 %. */
static const uint64_t crystals_hz[] = {25000000, 27000000, 48000000, 100000000};
#define CRYSTAL_TOLERANCE 100u /* of the frequency: 1 % */

/* If the bracketing readings are further apart, the thread was preempted: read again. */
#define BRACKET_NS_MAX	  20000u
#define BRACKET_TRIES_MAX 4
/* The driver may round its clock down by this much: a tick of the slowest crystal. */
#define SYSTEM_STEP_NS	  40u

/* Path of the runtime as the loader has it. */
static const char *runtime_path(const struct hsa_table *table)
{
	struct library library;
	void *address = NULL;

	memcpy(&address, &table->real.hsa_agent_get_info, sizeof(address));
	return library_find(address, &library) ? library.path : "";
}

static void path_resolve(const char *name, char *path, size_t capacity)
{
	char resolved[PATH_MAX];
	size_t bytes;

	path[0] = '\0';
	if (*name && realpath(name, resolved))
		name = resolved;
	bytes = strlen(name);
	if (bytes <= capacity - 1)
		memcpy(path, name, bytes + 1);
}

void clock_source_runtime(const struct hsa_table *table, char *path, size_t capacity)
{
	path_resolve(runtime_path(table), path, capacity);
}

static void thunk_find(const char *runtime, struct clock_source *source)
{
	void *symbol;
	void *handle;

	if (!*runtime)
		return;
	/*
	 * Does not load anything. dlsym() on the runtime's own handle also finds its private copy
	 * of the thunk.
	 */
	handle = dlopen(runtime, RTLD_NOLOAD | RTLD_LAZY);
	if (!handle)
		return;
	symbol = dlsym(handle, "hsaKmtGetClockCounters");
	memcpy(&source->counters, &symbol, sizeof(symbol));
	dlclose(handle);
}

/* The GPU's counter and the driver's BOOTTIME from the same call. */
struct reading {
	uint64_t tick;
	uint64_t system_ns;
};

static int agent_read(
	const struct clock_source *source, const struct agent *agent, struct reading *ret)
{
	union agent_counters counters;

	memset(&counters, 0, sizeof(counters));
	if (source->agent_info(agent->handle, AGENT_CLOCK_COUNTERS, &counters) !=
		HSA_STATUS_SUCCESS)
		return -EIO;
	*ret = (struct reading){counters.known.gpu, counters.known.system};
	return 0;
}

/*
 * On both clocks a second reading is not earlier than the first, and BOOTTIME has not advanced by
 * more than the time that has passed.
 */
static bool is_plausible(const struct clock_source *source, const struct agent *agent)
{
	uint64_t before_ns = clock_boottime_ns();
	struct reading first, second;
	uint64_t passed_ns;

	if (agent_read(source, agent, &first) || agent_read(source, agent, &second) || !first.tick)
		return false;
	passed_ns = clock_boottime_ns() - before_ns + SYSTEM_STEP_NS;
	return second.tick >= first.tick && second.system_ns >= first.system_ns &&
	       second.system_ns - first.system_ns <= passed_ns;
}

/* Used only if it gives believable readings for every GPU. */
static void agent_info_find(const struct hsa_table *table, struct clock_source *source)
{
	source->agent_info = table->real.hsa_agent_get_info;
	for (uint32_t i = 0; source->agent_info && i < source->agents->count; i++)
		if (!is_plausible(source, &source->agents->gpu[i]))
			source->agent_info = NULL;
}

void clock_source_open(
	const struct hsa_table *table, const struct agents *agents, struct clock_source *ret)
{
	const char *runtime = runtime_path(table);

	memset(ret, 0, sizeof(*ret));
	ret->agents = agents;
	ret->kfd = -1;
	path_resolve(runtime, ret->runtime, sizeof(ret->runtime));
	thunk_find(runtime, ret);
	if (!ret->counters)
		agent_info_find(table, ret);
	if (!ret->counters && !ret->agent_info)
		ret->kfd = fd_keep(open("/dev/kfd", O_RDWR | O_CLOEXEC));
	ret->kfd_mark = fd_mark(ret->kfd);
	ret->convert = table->real.hsa_amd_profiling_convert_tick_to_system_domain;
}

void clock_source_close(struct clock_source *source)
{
	if (fd_is(source->kfd, source->kfd_mark))
		close(source->kfd);
	source->kfd = -1;
	source->counters = NULL;
	source->agent_info = NULL;
	source->convert = NULL;
}

const char *clock_source_name(const struct clock_source *source)
{
	if (source->counters)
		return "the thunk's";
	if (source->agent_info)
		return "the runtime's";
	if (source->kfd >= 0)
		return "KFD's";
	return source->convert ? "what the runtime makes of ticks" : "none";
}

static int thunk_read(
	const struct clock_source *source, const struct agent *agent, struct reading *ret)
{
	struct thunk_counters counters;

	memset(&counters, 0, sizeof(counters));
	if (source->counters(agent->kfd_node, &counters))
		return -EIO;
	*ret = (struct reading){counters.gpu, counters.system};
	return 0;
}

static int kfd_read(
	const struct clock_source *source, const struct agent *agent, struct reading *ret)
{
	struct kfd_counters arguments;

	if (!agent->kfd_gpu_id)
		return -EIO;
	memset(&arguments, 0, sizeof(arguments));
	arguments.gpu_id = agent->kfd_gpu_id;
	if (ioctl(source->kfd, KFD_GET_CLOCK_COUNTERS, &arguments))
		return -EIO;
	*ret = (struct reading){arguments.gpu, arguments.system};
	return 0;
}

static int reading_take(
	const struct clock_source *source, const struct agent *agent, struct reading *ret)
{
	if (source->counters)
		return thunk_read(source, agent, ret);
	if (source->agent_info)
		return agent_read(source, agent, ret);
	return source->kfd >= 0 ? kfd_read(source, agent, ret) : -EIO;
}

/*
 * The counter is read between two readings of BOOTTIME, whose distance bounds the anchor's error.
 * If the driver reports a time in between, that is the better value; else the middle is used.
 */
static int bracketed_read(
	const struct clock_source *source, const struct agent *agent, struct recorder_anchor *ret)
{
	uint64_t best_ns = UINT64_MAX;

	for (int try = 0; try < BRACKET_TRIES_MAX && best_ns > BRACKET_NS_MAX; try++) {
		uint64_t before_ns = clock_boottime_ns(), after_ns;
		struct reading reading;
		int r = reading_take(source, agent, &reading);

		if (r)
			return r;
		after_ns = clock_boottime_ns();
		if (after_ns - before_ns >= best_ns)
			continue;
		best_ns = after_ns - before_ns;
		ret->tick = reading.tick;
		ret->boottime_ns = before_ns + best_ns / 2;
		if (reading.system_ns + SYSTEM_STEP_NS >= before_ns &&
			reading.system_ns <= after_ns)
			ret->boottime_ns = reading.system_ns;
		ret->error_ns = best_ns + SYSTEM_STEP_NS;
	}
	return 0;
}

static int converted_read(struct clock_source *source, uint32_t gpu, struct recorder_anchor *ret)
{
	const struct agent *agent = &source->agents->gpu[gpu];
	struct tick_point *point = &source->point[gpu];
	int r;

	if (!source->convert)
		return -EIO;
	r = tick_point_read(source->convert, agent->handle, agent->tick_hz, point);
	if (r)
		return r;
	ret->tick = point->tick;
	ret->boottime_ns = point->boottime_ns;
	ret->error_ns = TICK_POINT_ERROR_NS;
	return 0;
}

int clock_source_read(struct clock_source *source, uint32_t gpu, struct recorder_anchor *ret)
{
	struct recorder_anchor anchor;
	int r;

	if (gpu >= source->agents->count)
		return -EIO;
	memset(&anchor, 0, sizeof(anchor));
	r = bracketed_read(source, &source->agents->gpu[gpu], &anchor);
	if (r)
		r = converted_read(source, gpu, &anchor);
	if (r)
		return r;
	/* The offset between the two host clocks changes slowly, so a pair read now will do. */
	anchor.realtime_ns = anchor.boottime_ns + (clock_realtime_ns() - clock_boottime_ns());
	*ret = anchor;
	return 0;
}

uint64_t clock_source_estimate_hz(
	const struct recorder_anchor *first, const struct recorder_anchor *last)
{
	double ns, hz;

	if (last->boottime_ns <= first->boottime_ns || last->tick <= first->tick)
		return 0;
	ns = (double)(last->boottime_ns - first->boottime_ns);
	hz = (double)(last->tick - first->tick) * 1e9 / ns;
	for (size_t i = 0; i < sizeof(crystals_hz) / sizeof(crystals_hz[0]); i++) {
		double crystal = (double)crystals_hz[i];

		if (hz > crystal - crystal / CRYSTAL_TOLERANCE &&
			hz < crystal + crystal / CRYSTAL_TOLERANCE)
			return crystals_hz[i];
	}
	return (uint64_t)(hz + 0.5);
}

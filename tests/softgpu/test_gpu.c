// SPDX-License-Identifier: MIT
#include "tests/softgpu/test_gpu.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

const char *const test_kernel_name[4] = {"alpha", "beta", "gamma", "delta"};

static void refuse(const char *path)
{
	fprintf(stderr, "not the software GPU: %s\n", path);
	exit(1);
}

/* ROCr from 7.0 on opens the other library, only with this switch. */
static bool is_rocm_7(void)
{
	const char *dtif = getenv("HSA_ENABLE_DTIF");

	return dtif && !strcmp(dtif, "1");
}

void *gpu_find_in_thunk(const char *name)
{
	void *library;

	if (!is_rocm_7())
		return dlsym(RTLD_DEFAULT, name);
	library = dlopen("libdtif.so", RTLD_LAZY);
	return library ? dlsym(library, name) : NULL;
}

/* Not a skip: results on another device would mean nothing. */
void gpu_require_soft_thunk(void)
{
	char want[PATH_MAX], have[PATH_MAX], line[PATH_MAX + 128];
	const char *library = is_rocm_7() ? SOFTGPU_DTIF : SOFTGPU_LIBRARY;
	void *f = gpu_find_in_thunk("hsaKmtOpenKFD");
	FILE *maps = fopen("/proc/self/maps", "re");
	Dl_info info;

	if (!realpath(library, want) || !f || !dladdr(f, &info) ||
		!realpath(info.dli_fname, have) || !maps)
		refuse("no thunk found");
	if (strcmp(want, have) != 0)
		refuse(have);
	while (fgets(line, sizeof(line), maps)) {
		char *path = strchr(line, '/');

		if (!path || (!strstr(path, "libhsakmt") && !strstr(path, "libdtif")))
			continue;
		path[strcspn(path, "\n")] = 0;
		if (strcmp(path, want) != 0)
			refuse(path);
	}
	fclose(maps);
}

static hsa_status_t add_agent(hsa_agent_t agent, void *arg)
{
	struct gpu *g = arg;
	hsa_device_type_t type;

	HSA_OK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
	if (type == HSA_DEVICE_TYPE_CPU)
		g->cpu = agent;
	else if (g->count < TEST_GPUS_MAX)
		g->agent[g->count++] = agent;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t take_first_global(hsa_amd_memory_pool_t pool, void *arg)
{
	hsa_amd_memory_pool_t *ret = arg;
	hsa_amd_segment_t segment;
	bool can_alloc;

	HSA_OK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
	HSA_OK(hsa_amd_memory_pool_get_info(
		pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, &can_alloc));
	if (segment != HSA_AMD_SEGMENT_GLOBAL || !can_alloc)
		return HSA_STATUS_SUCCESS;
	*ret = pool;
	return HSA_STATUS_INFO_BREAK;
}

void gpu_open(struct gpu *ret)
{
	memset(ret, 0, sizeof(*ret));
	gpu_require_soft_thunk();
	HSA_OK(hsa_init());
	HSA_OK(hsa_iterate_agents(add_agent, ret));
	hsa_amd_agent_iterate_memory_pools(ret->cpu, take_first_global, &ret->host_pool);
	for (unsigned int i = 0; i < ret->count; i++)
		hsa_amd_agent_iterate_memory_pools(ret->agent[i], take_first_global, &ret->vram[i]);
}

void gpu_close(void)
{
	HSA_OK(hsa_shut_down());
}

uint64_t code_find(const struct code *c, hsa_agent_t agent, const char *name)
{
	hsa_executable_symbol_t symbol;
	uint64_t object = 0;
	char text[64];

	snprintf(text, sizeof(text), "%s.kd", name);
	HSA_OK(hsa_executable_get_symbol_by_name(c->executable, text, &agent, &symbol));
	HSA_OK(hsa_executable_symbol_get_info(
		symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &object));
	return object;
}

void code_load(hsa_agent_t agent, struct code *ret)
{
	int fd = open(TEST_CODE_OBJECT, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	HSA_OK(hsa_code_object_reader_create_from_file(fd, &ret->reader));
	HSA_OK(hsa_executable_create_alt(
		HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL, &ret->executable));
	HSA_OK(hsa_executable_load_agent_code_object(
		ret->executable, agent, ret->reader, NULL, NULL));
	HSA_OK(hsa_executable_freeze(ret->executable, NULL));
	close(fd);
	for (size_t i = 0; i < 4; i++)
		ret->kernel[i] = code_find(ret, agent, test_kernel_name[i]);
}

void code_unload(struct code *c)
{
	HSA_OK(hsa_executable_destroy(c->executable));
	HSA_OK(hsa_code_object_reader_destroy(c->reader));
}

hsa_queue_t *queue_new(hsa_agent_t agent, uint32_t packets)
{
	hsa_queue_t *q = NULL;

	HSA_OK(hsa_queue_create(
		agent, packets, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX, UINT32_MAX, &q));
	HSA_OK(hsa_amd_profiling_set_profiler_enabled(q, 1));
	return q;
}

hsa_signal_t signal_new(hsa_signal_value_t value)
{
	hsa_signal_t s;

	HSA_OK(hsa_signal_create(value, 0, NULL, &s));
	return s;
}

static uint32_t make_head(unsigned int type, unsigned int setup)
{
	return type | 1u << HSA_PACKET_HEADER_BARRIER |
	       HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
	       HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE | setup << 16;
}

struct packet packet_dispatch(uint64_t kernel, hsa_signal_t done)
{
	hsa_kernel_dispatch_packet_t d = {
		.workgroup_size_x = 64,
		.workgroup_size_y = 1,
		.workgroup_size_z = 1,
		.grid_size_x = 256,
		.grid_size_y = 2,
		.grid_size_z = 1,
		.kernel_object = kernel,
		.completion_signal = done,
	};
	struct packet p;

	memcpy(&p, &d, sizeof(p));
	p.head = make_head(HSA_PACKET_TYPE_KERNEL_DISPATCH, 2);
	return p;
}

struct packet packet_barrier(
	hsa_packet_type_t type, const hsa_signal_t *dep, unsigned int count, hsa_signal_t done)
{
	hsa_barrier_and_packet_t b = {.completion_signal = done};
	struct packet p;

	for (unsigned int i = 0; i < count; i++)
		b.dep_signal[i] = dep[i];
	memcpy(&p, &b, sizeof(p));
	p.head = make_head(type, 0);
	return p;
}

struct packet packet_barrier_value(hsa_signal_t dep, hsa_signal_condition32_t condition,
	hsa_signal_value_t value, hsa_signal_t done)
{
	hsa_amd_barrier_value_packet_t b = {
		.signal = dep,
		.value = value,
		.mask = INT64_MAX,
		.cond = condition,
		.completion_signal = done,
	};
	struct packet p;

	memcpy(&p, &b, sizeof(p));
	p.head = make_head(HSA_PACKET_TYPE_VENDOR_SPECIFIC, HSA_AMD_PACKET_TYPE_BARRIER_VALUE);
	return p;
}

void packet_store(hsa_queue_t *q, uint64_t index, const struct packet *p)
{
	struct packet *slot = (struct packet *)q->base_address + index % q->size;

	memcpy(slot->words, p->words, sizeof(p->words));
	__atomic_store_n(&slot->head, p->head, __ATOMIC_RELEASE);
}

void queue_ring(hsa_queue_t *q, uint64_t index)
{
	hsa_signal_store_screlease(q->doorbell_signal, (hsa_signal_value_t)index);
}

uint64_t queue_put(hsa_queue_t *q, struct packet p)
{
	uint64_t index = hsa_queue_add_write_index_relaxed(q, 1);
	uint64_t deadline = test_now_ms() + TEST_DEADLINE_MS;

	while (index - hsa_queue_load_read_index_scacquire(q) >= q->size) {
		assert_true(test_now_ms() < deadline);
		sched_yield();
	}
	packet_store(q, index, &p);
	queue_ring(q, index);
	return index;
}

void signal_wait_done(hsa_signal_t s)
{
	uint64_t deadline = test_now_ms() + TEST_DEADLINE_MS, hz;

	HSA_OK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &hz));
	while (hsa_signal_wait_scacquire(
		       s, HSA_SIGNAL_CONDITION_LT, 1, hz, HSA_WAIT_STATE_BLOCKED) >= 1)
		assert_true(test_now_ms() < deadline);
}

void run_one(hsa_queue_t *q, uint64_t kernel, hsa_signal_t s)
{
	hsa_signal_store_relaxed(s, 1);
	queue_put(q, packet_dispatch(kernel, s));
	signal_wait_done(s);
}

hsa_amd_profiling_dispatch_time_t signal_time(hsa_agent_t agent, hsa_signal_t s)
{
	hsa_amd_profiling_dispatch_time_t t;

	HSA_OK(hsa_amd_profiling_get_dispatch_time(agent, s, &t));
	return t;
}

uint64_t test_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

bool wait_for(bool (*is_met)(void *arg), void *arg)
{
	uint64_t deadline = test_now_ms() + TEST_DEADLINE_MS;

	while (!is_met(arg)) {
		struct timespec nap = {0, 200000};

		if (test_now_ms() > deadline)
			return false;
		nanosleep(&nap, NULL);
	}
	return true;
}

static char dir[PATH_MAX];
static pid_t dir_owner;

static void remove_dir(void)
{
	char command[PATH_MAX + 16];

	if (dir_owner != getpid())
		return;
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	if (system(command))
		fprintf(stderr, "left behind: %s\n", dir);
}

const char *test_dir(void)
{
	const char *base = getenv("TMPDIR");

	if (!dir_owner) {
		snprintf(dir, sizeof(dir), "%s/softgpu-XXXXXX", base ? base : "/tmp");
		assert_non_null(mkdtemp(dir));
		dir_owner = getpid();
		atexit(remove_dir);
	}
	return dir;
}

const char *test_path(char *buf, size_t size, const char *name)
{
	snprintf(buf, size, "%s/%s", test_dir(), name);
	return buf;
}

void truth_map(const char *path, struct truth *ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *map;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	assert_true(map != MAP_FAILED);
	close(fd);
	ret->bytes = (size_t)st.st_size;
	ret->header = map;
	assert_true(ret->header->magic == SOFTGPU_TRUTH_MAGIC);
	assert_int_equal(ret->header->version, SOFTGPU_TRUTH_VERSION);
	ret->queue = (const void *)((const char *)map + ret->header->queues_offset);
	ret->record = (const void *)((const char *)map + ret->header->records_offset);
	ret->names = (const char *)map + ret->header->names_offset;
}

void truth_unmap(struct truth *t)
{
	munmap((void *)(uintptr_t)t->header, t->bytes);
}

uint64_t truth_records(const struct truth *t)
{
	uint64_t n = __atomic_load_n(&t->header->reserved, __ATOMIC_ACQUIRE);

	return n < t->header->capacity ? n : t->header->capacity;
}

const char *truth_name(const struct truth *t, uint64_t i)
{
	return t->names + t->record[i].name;
}

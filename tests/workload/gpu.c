// SPDX-License-Identifier: MIT
#include "tests/workload/gpu.h"

#include <errno.h>
#include <hsa/amd_hsa_signal.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/workload/talk.h"

static const char gpu_topology[] = "/sys/class/kfd/kfd/topology/nodes";

struct gpu_agents {
	hsa_agent_t gpu[GPU_AGENTS_MAX];
	hsa_agent_t cpu[GPU_AGENTS_MAX];
	int gpus, cpus;
};

int gpu_failed(const char *call, hsa_status_t status)
{
	const char *text = NULL;

	if (hsa_status_string(status, &text) != HSA_STATUS_SUCCESS || !text)
		text = "unknown status";
	talk("%s: %s (0x%x)", call, text, (unsigned)status);
	return -EIO;
}

static hsa_status_t gpu_note_agent(hsa_agent_t agent, void *data)
{
	struct gpu_agents *agents = data;
	hsa_device_type_t type;
	hsa_status_t status = hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);

	if (status != HSA_STATUS_SUCCESS)
		return status;
	if (type == HSA_DEVICE_TYPE_GPU && agents->gpus < GPU_AGENTS_MAX)
		agents->gpu[agents->gpus++] = agent;
	if (type == HSA_DEVICE_TYPE_CPU && agents->cpus < GPU_AGENTS_MAX)
		agents->cpu[agents->cpus++] = agent;
	return HSA_STATUS_SUCCESS;
}

static int gpu_init(struct gpu_agents *ret)
{
	hsa_status_t status = hsa_init();

	*ret = (struct gpu_agents){0};
	if (status != HSA_STATUS_SUCCESS && access("/dev/kfd", F_OK)) {
		talk("hsa_init fails, and there is no /dev/kfd: no AMD GPU driver here. For the "
		     "software GPU, put its build/lib/softgpu into LD_LIBRARY_PATH");
		return -ENODEV;
	}
	if (status != HSA_STATUS_SUCCESS)
		return gpu_failed("hsa_init", status);
	GPU_TRY(hsa_iterate_agents, gpu_note_agent, ret);
	if (!ret->gpus || !ret->cpus) {
		const char *visible = getenv("ROCR_VISIBLE_DEVICES");

		talk("the HSA runtime shows no GPU%s%s",
			visible ? " for ROCR_VISIBLE_DEVICES=" : "", visible ? visible : "");
		hsa_shut_down();
		return -ENODEV;
	}
	return 0;
}

/* Whether the topology in sysfs has @node as a GPU: CPU nodes and hidden ones read as 0 or fail. */
static bool gpu_node_in_sysfs(uint32_t node)
{
	char path[128];
	unsigned long long gpu_id = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%" PRIu32 "/gpu_id", gpu_topology, node);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (fscanf(file, "%llu", &gpu_id) != 1)
		gpu_id = 0;
	fclose(file);
	return gpu_id != 0;
}

/*
 * A software GPU's nodes are not those of this host's topology, so they are counted as on a host
 * that shows none.
 */
static int gpu_number_on_node(uint32_t node, int cpus, bool simulated)
{
	int below = 0;

	if (simulated || !gpu_node_in_sysfs(node))
		return (int)node - cpus;
	for (uint32_t i = 0; i < node; i++)
		below += gpu_node_in_sysfs(i);
	return below;
}

static hsa_status_t gpu_note_isa(hsa_isa_t isa, void *data)
{
	char name[128] = "";
	uint32_t length = 0;
	const char *gfx;
	char *to = data;
	hsa_status_t status = hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME_LENGTH, &length);

	if (status != HSA_STATUS_SUCCESS || length >= sizeof(name))
		return status;
	status = hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME, name);
	if (status != HSA_STATUS_SUCCESS)
		return status;
	/* amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack- */
	gfx = strstr(name, "--gfx");
	if (!gfx)
		return HSA_STATUS_SUCCESS;
	snprintf(to, sizeof(((struct gpu *)0)->gfx), "%.*s", (int)strcspn(gfx + 2, ":"), gfx + 2);
	return HSA_STATUS_INFO_BREAK;
}

static int gpu_describe(hsa_agent_t agent, int cpus, struct gpu *ret)
{
	uint32_t node = 0;
	hsa_status_t status;

	GPU_TRY(hsa_agent_get_info, agent, (hsa_agent_info_t)HSA_AMD_AGENT_INFO_DRIVER_NODE_ID,
		&node);
	GPU_TRY(hsa_agent_get_info, agent, (hsa_agent_info_t)HSA_AMD_AGENT_INFO_PRODUCT_NAME,
		ret->name);
	status = hsa_agent_iterate_isas(agent, gpu_note_isa, ret->gfx);
	if (status != HSA_STATUS_SUCCESS && status != HSA_STATUS_INFO_BREAK)
		return gpu_failed("hsa_agent_iterate_isas", status);
	ret->agent = agent;
	ret->simulated = strstr(ret->name, "SIMULATED") != NULL;
	ret->node_gpu = gpu_number_on_node(node, cpus, ret->simulated);
	return 0;
}

struct gpu_pool_want {
	uint32_t flags;
	hsa_amd_memory_pool_t found;
};

static hsa_status_t gpu_note_pool(hsa_amd_memory_pool_t pool, void *data)
{
	struct gpu_pool_want *want = data;
	hsa_amd_segment_t segment;
	uint32_t flags = 0;
	bool allowed = false;

	hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
	if (segment != HSA_AMD_SEGMENT_GLOBAL)
		return HSA_STATUS_SUCCESS;
	hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
	hsa_amd_memory_pool_get_info(
		pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, &allowed);
	if (!allowed || (flags & want->flags) != want->flags)
		return HSA_STATUS_SUCCESS;
	want->found = pool;
	return HSA_STATUS_INFO_BREAK;
}

static int gpu_find_pool(hsa_agent_t agent, uint32_t flags, hsa_amd_memory_pool_t *ret)
{
	struct gpu_pool_want want = {.flags = flags};
	hsa_status_t status = hsa_amd_agent_iterate_memory_pools(agent, gpu_note_pool, &want);

	if (status != HSA_STATUS_INFO_BREAK) {
		talk("an agent has no memory pool with flags 0x%x", (unsigned)flags);
		return -EIO;
	}
	*ret = want.found;
	return 0;
}

int gpu_open(int turn, int limit, struct gpu *ret)
{
	struct gpu_agents agents;
	struct gpu gpu = {0};
	int r = gpu_init(&agents);
	int count = agents.gpus;

	if (r)
		return r;
	if (limit > count && turn == 0)
		talk("%d GPUs are visible, not %d: ranks share them", count, limit);
	if (limit && limit < count)
		count = limit;
	r = gpu_describe(agents.gpu[turn % count], agents.cpus, &gpu);
	if (r)
		return r;
	gpu.cpu = agents.cpu[0];
	r = gpu_find_pool(
		gpu.agent, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED, &gpu.device_pool);
	if (r)
		return r;
	r = gpu_find_pool(gpu.cpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT, &gpu.host_pool);
	if (r)
		return r;
	*ret = gpu;
	return 0;
}

void gpu_close(void)
{
	hsa_shut_down();
}

int gpu_list(void)
{
	struct gpu_agents agents;
	int r = gpu_init(&agents);

	for (int i = 0; !r && i < agents.gpus; i++) {
		struct gpu gpu = {0};

		r = gpu_describe(agents.gpu[i], agents.cpus, &gpu);
		if (!r)
			printf("gpu=%d gfx=%s name=%s\n", gpu.node_gpu, gpu.gfx, gpu.name);
	}
	if (!r)
		hsa_shut_down();
	return r;
}

void *gpu_alloc_host(const struct gpu *gpu, size_t size)
{
	void *memory = NULL;
	hsa_status_t status = hsa_amd_memory_pool_allocate(gpu->host_pool, size, 0, &memory);

	if (status == HSA_STATUS_SUCCESS)
		status = hsa_amd_agents_allow_access(1, &gpu->agent, NULL, memory);
	if (status != HSA_STATUS_SUCCESS) {
		gpu_failed("host memory", status);
		return NULL;
	}
	memset(memory, 0, size);
	return memory;
}

void *gpu_alloc_device(const struct gpu *gpu, size_t size)
{
	void *memory = NULL;
	hsa_status_t status = hsa_amd_memory_pool_allocate(gpu->device_pool, size, 0, &memory);

	if (status != HSA_STATUS_SUCCESS)
		gpu_failed("GPU memory", status);
	return memory;
}

void gpu_wait(hsa_signal_t signal)
{
	while (hsa_signal_wait_scacquire(
		       signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) >= 1)
		;
	gpu_saw((char *)signal.handle + offsetof(amd_signal_t, value));
}

int gpu_copy(void *to, hsa_agent_t to_agent, const void *from, hsa_agent_t from_agent, size_t size)
{
	hsa_signal_t done;

	GPU_TRY(hsa_signal_create, 1, 0, NULL, &done);
	GPU_TRY(hsa_amd_memory_async_copy, to, to_agent, from, from_agent, size, 0, NULL, done);
	gpu_wait(done);
	GPU_TRY(hsa_signal_destroy, done);
	return 0;
}

/* SPDX-License-Identifier: MIT
 * libguest-work.so: what a plugin does on the GPU; brings its runtime along. */
#include "tests/softgpu/test_gpu.h"

int guest_work(int kernels);

static hsa_agent_t agent;
static struct code code;
static hsa_queue_t *queue;
static hsa_signal_t done;

static hsa_status_t take_gpu(hsa_agent_t each, void *arg)
{
	hsa_device_type_t type;

	(void)arg;
	HSA_OK(hsa_agent_get_info(each, HSA_AGENT_INFO_DEVICE, &type));
	if (type != HSA_DEVICE_TYPE_GPU)
		return HSA_STATUS_SUCCESS;
	agent = each;
	return HSA_STATUS_INFO_BREAK;
}

/* Dispatches @kernels; 0 starts the runtime; a negative number shuts it down. */
__attribute__((visibility("default"))) int guest_work(int kernels)
{
	if (kernels < 0) {
		HSA_OK(hsa_signal_destroy(done));
		HSA_OK(hsa_queue_destroy(queue));
		code_unload(&code);
		HSA_OK(hsa_shut_down());
		return 0;
	}
	if (!kernels) {
		/* Not gpu_open(): each of two runtimes has its own thunk. */
		HSA_OK(hsa_init());
		assert_int_equal(hsa_iterate_agents(take_gpu, NULL), HSA_STATUS_INFO_BREAK);
		code_load(agent, &code);
		queue = queue_new(agent, 256);
		done = signal_new(1);
	}
	for (int i = 0; i < kernels; i++)
		run_one(queue, code.kernel[i % 4], done);
	return kernels;
}

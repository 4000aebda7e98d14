// SPDX-License-Identifier: MIT
#include "tests/workload/verify.h"

#include <errno.h>

#include "tests/workload/kernels.h"
#include "tests/workload/talk.h"

#define VERIFY_FLOATS (4 * KERNEL_WORKGROUP)

struct verify_memory {
	float a[VERIFY_FLOATS], b[VERIFY_FLOATS], sum[VERIFY_FLOATS];
	struct kernel_args args;
};

static int verify_compare(const struct gpu *gpu, const struct verify_memory *m)
{
	if (gpu->simulated)
		return 0;
	for (int i = 0; i < VERIFY_FLOATS; i++) {
		if (m->sum[i] != m->a[i] + m->b[i]) {
			talk("%s adds wrongly: %g + %g = %g", gpu->name, (double)m->a[i],
				(double)m->b[i], (double)m->sum[i]);
			return -EILSEQ;
		}
	}
	return 0;
}

static int verify_add(const struct model *model, struct producer *producer, struct verify_memory *m)
{
	hsa_kernel_dispatch_packet_t packet = queue_packet(&model->code->kernel[KERNEL_VECTOR_ADD],
		VERIFY_FLOATS / KERNEL_WORKGROUP, &m->args);
	hsa_signal_t done;

	GPU_TRY(hsa_signal_create, 1, 0, NULL, &done);
	for (int i = 0; i < VERIFY_FLOATS; i++) {
		m->a[i] = (float)i;
		m->b[i] = 0.5f * (float)i;
	}
	m->args = (struct kernel_args){m->a, m->b, m->sum, VERIFY_FLOATS, 0, 0, 0};
	queue_dispatch(producer, &packet, (hsa_signal_t){0});
	queue_barrier(producer, (hsa_signal_t){0}, done);
	gpu_wait(done);
	GPU_TRY(hsa_signal_destroy, done);
	return verify_compare(model->gpu, m);
}

int verify_run(const struct model *model, struct producer *producer)
{
	struct verify_memory *memory = gpu_alloc_host(model->gpu, sizeof(*memory));
	int r = memory ? verify_add(model, producer, memory) : -ENOMEM;

	if (memory)
		hsa_amd_memory_pool_free(memory);
	return r;
}

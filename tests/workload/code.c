// SPDX-License-Identifier: MIT
#include "tests/workload/code.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/workload/kernels.h"
#include "tests/workload/talk.h"

static const struct {
	const char *symbol;
	enum code_module module;
} code_kernels[KERNEL_COUNT] = {
	[KERNEL_VECTOR_ADD] = {SYM_VECTOR_ADD, CODE_MODEL},
	[KERNEL_GEMM_FWD] = {SYM_GEMM_FWD, CODE_MODEL},
	[KERNEL_GEMM_DGRAD] = {SYM_GEMM_DGRAD, CODE_MODEL},
	[KERNEL_GEMM_WGRAD] = {SYM_GEMM_WGRAD, CODE_MODEL},
	[KERNEL_GEMM_FWD_SLOW] = {SYM_GEMM_FWD_SLOW, CODE_MODEL},
	[KERNEL_GEMM_DGRAD_SLOW] = {SYM_GEMM_DGRAD_SLOW, CODE_MODEL},
	[KERNEL_GEMM_WGRAD_SLOW] = {SYM_GEMM_WGRAD_SLOW, CODE_MODEL},
	[KERNEL_ATTN_FWD] = {SYM_ATTN_FWD, CODE_MODEL},
	[KERNEL_ATTN_BWD] = {SYM_ATTN_BWD, CODE_MODEL},
	[KERNEL_RMS_NORM] = {SYM_RMS_NORM, CODE_MODEL},
	[KERNEL_ROTARY] = {SYM_ROTARY, CODE_MODEL},
	[KERNEL_SILU_MUL] = {SYM_SILU_MUL, CODE_MODEL},
	[KERNEL_ADD] = {SYM_ADD, CODE_MODEL},
	[KERNEL_SOFTMAX] = {SYM_SOFTMAX, CODE_MODEL},
	[KERNEL_NORM_GRAD] = {SYM_NORM_GRAD, CODE_MODEL},
	[KERNEL_ADAM] = {SYM_ADAM, CODE_MODEL},
	[KERNEL_ALL_REDUCE] = {SYM_ALL_REDUCE, CODE_COMM},
	[KERNEL_REDUCE_SCATTER] = {SYM_REDUCE_SCATTER, CODE_COMM},
	[KERNEL_HANG] = {SYM_HANG, CODE_MODEL},
};

const char *code_symbol(enum kernel_id id)
{
	return code_kernels[id].symbol;
}

static const struct code_object *code_pick(const char *gfx)
{
	char known[256] = "";
	size_t len = 0;

	for (const struct code_object *object = code_objects; object->gfx; object++) {
		if (!strcmp(object->gfx, gfx))
			return object;
		if (len < sizeof(known))
			len += (size_t)snprintf(
				known + len, sizeof(known) - len, " %s", object->gfx);
	}
	talk("no code object for this GPU's target '%s'; built for:%s", gfx, known);
	return NULL;
}

static int code_load_module(const struct gpu *gpu, const struct code_object *object,
	enum code_module module, struct code *code)
{
	const unsigned char *start = object->module[module].start;
	hsa_executable_t executable;
	size_t size = (size_t)(object->module[module].end - start);

	GPU_TRY(hsa_code_object_reader_create_from_memory, start, size, &code->reader[module]);
	GPU_TRY(hsa_executable_create_alt, HSA_PROFILE_FULL,
		HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL, &executable);
	GPU_TRY(hsa_executable_load_agent_code_object, executable, gpu->agent, code->reader[module],
		NULL, NULL);
	GPU_TRY(hsa_executable_freeze, executable, NULL);
	code->executable[module] = executable;
	return 0;
}

static int code_find(const struct gpu *gpu, enum kernel_id id, struct code *code)
{
	struct kernel *kernel = &code->kernel[id];
	hsa_executable_symbol_t symbol;
	uint32_t kernarg_bytes = 0;
	char name[512];

	snprintf(name, sizeof(name), "%s.kd", code_kernels[id].symbol);
	GPU_TRY(hsa_executable_get_symbol_by_name, code->executable[code_kernels[id].module], name,
		&gpu->agent, &symbol);
	GPU_TRY(hsa_executable_symbol_get_info, symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
		&kernel->object);
	GPU_TRY(hsa_executable_symbol_get_info, symbol,
		HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &kernel->group_bytes);
	GPU_TRY(hsa_executable_symbol_get_info, symbol,
		HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &kernel->private_bytes);
	GPU_TRY(hsa_executable_symbol_get_info, symbol,
		HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &kernarg_bytes);
	if (kernarg_bytes > KERNEL_ARGS_BYTES) {
		talk("%s wants %u bytes of arguments, not %d", name, (unsigned)kernarg_bytes,
			KERNEL_ARGS_BYTES);
		return -ENOEXEC;
	}
	return 0;
}

int code_load(const struct gpu *gpu, struct code *ret)
{
	const struct code_object *object = code_pick(gpu->gfx);
	struct code code = {0};
	int r = object ? 0 : -ENOEXEC;

	for (enum code_module module = 0; !r && module < CODE_MODULES; module++)
		r = code_load_module(gpu, object, module, &code);
	for (enum kernel_id id = 0; !r && id < KERNEL_COUNT; id++)
		r = code_find(gpu, id, &code);
	if (!r)
		*ret = code;
	return r;
}

void code_unload(struct code *code)
{
	for (int module = 0; module < CODE_MODULES; module++) {
		hsa_executable_destroy(code->executable[module]);
		hsa_code_object_reader_destroy(code->reader[module]);
	}
}

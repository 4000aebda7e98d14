// SPDX-License-Identifier: MIT
#include "tests/softgpu/softgpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct config softgpu_config;

/* The kernel driver's numbers of chip families. */
#define FAMILY_AI    141u
#define FAMILY_NV    143u
#define FAMILY_GFX11 145u
#define FAMILY_GFX12 152u

/* A runtime uses those that it knows; topology.c reports the others. */
static const struct gfx_target targets[] = {
	/* name   major minor step  CUs simd waves wave SE device xcc xgmi family sramecc */
	{"gfx90a", 9, 0, 10, 104, 4, 8, 64, 8, 0x740f, 1, 2, FAMILY_AI, true},
	{"gfx942", 9, 4, 2, 304, 4, 8, 64, 32, 0x74a1, 8, 14, FAMILY_AI, true},
	{"gfx950", 9, 5, 0, 256, 4, 8, 64, 32, 0x75a0, 8, 14, FAMILY_AI, true},
	{"gfx908", 9, 0, 8, 120, 4, 10, 64, 8, 0x738c, 1, 2, FAMILY_AI, true},
	{"gfx906", 9, 0, 6, 60, 4, 10, 64, 4, 0x66a1, 1, 2, FAMILY_AI, true},
	{"gfx900", 9, 0, 0, 64, 4, 10, 64, 4, 0x6860, 1, 2, FAMILY_AI, false},
	{"gfx1030", 10, 3, 0, 80, 2, 16, 32, 4, 0x73a3, 1, 2, FAMILY_NV, false},
	{"gfx1031", 10, 3, 1, 40, 2, 16, 32, 2, 0x73df, 1, 2, FAMILY_NV, false},
	{"gfx1100", 11, 0, 0, 96, 2, 16, 32, 6, 0x744c, 1, 2, FAMILY_GFX11, false},
	{"gfx1201", 12, 0, 1, 64, 2, 16, 32, 4, 0x7550, 1, 2, FAMILY_GFX12, false},
};

static int get_u64(const char *name, uint64_t min, uint64_t max, uint64_t def, uint64_t *ret)
{
	const char *text = getenv(name);
	char *end = NULL;
	unsigned long long v;

	if (!text || !*text) {
		*ret = def;
		return 0;
	}
	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno || *end || *text < '0' || *text > '9' || v < min || v > max) {
		fprintf(stderr, "softgpu: %s=%s: a number from %llu to %llu is wanted\n", name,
			text, (unsigned long long)min, (unsigned long long)max);
		return -EINVAL;
	}
	*ret = v;
	return 0;
}

static const struct gfx_target *find_target(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		if (strlen(targets[i].name) == len && !memcmp(targets[i].name, name, len))
			return &targets[i];
	}
	return NULL;
}

/* One name for all GPUs, or a comma-separated list that is repeated as needed. */
static int get_targets(struct config *c)
{
	const char *text = getenv("SOFTGPU_GFX");
	const char *at;

	if (!text || !*text)
		text = "gfx90a";
	at = text;
	for (uint32_t i = 0; i < SOFTGPU_GPUS_MAX; i++) {
		size_t len = strcspn(at, ",");

		c->gfx[i] = find_target(at, len);
		if (!c->gfx[i]) {
			fprintf(stderr, "softgpu: SOFTGPU_GFX=%s: known targets are", text);
			for (size_t t = 0; t < sizeof(targets) / sizeof(targets[0]); t++)
				fprintf(stderr, " %s", targets[t].name);
			fprintf(stderr, "\n");
			return -EINVAL;
		}
		at = at[len] ? at + len + 1 : text;
	}
	return 0;
}

int config_load(struct config *ret)
{
	struct config c = {0};
	uint64_t count, realtime, eager, reuse, minor;

	if (get_u64("SOFTGPU_COUNT", 0, SOFTGPU_GPUS_MAX, 2, &count) ||
		get_u64("SOFTGPU_REALTIME", 0, 1, 0, &realtime) ||
		get_u64("SOFTGPU_EAGER", 0, 2, 0, &eager) ||
		get_u64("SOFTGPU_REUSE", 0, 1, 1, &reuse) ||
		get_u64("SOFTGPU_KFD", 1, 99, 11, &minor) ||
		get_u64("SOFTGPU_TRUTH_RECORDS", 1, 1u << 30, 1u << 20, &c.truth_records) ||
		get_targets(&c))
		return -EINVAL;
	c.count = (uint32_t)count;
	c.is_realtime = realtime;
	c.eager = (int)eager;
	c.reuses_code_memory = reuse;
	c.kfd_minor = (uint32_t)minor;
	c.truth_path = getenv("SOFTGPU_TRUTH");
	c.script_path = getenv("SOFTGPU_SCRIPT");
	c.fault_text = getenv("SOFTGPU_FAULT");
	*ret = c;
	return 0;
}

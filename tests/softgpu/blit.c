// SPDX-License-Identifier: MIT
#include "tests/softgpu/softgpu.h"

#include <hsa/amd_hsa_kernel_code.h>
#include <string.h>

/*
 * ROCr's own copy kernels are raw code without a symbol. They begin with as many scalar loads as
 * their arguments need, so a dword further on distinguishes them: the fifth load of four dwords,
 * the load of one, the wait after two. That dword and the first load differ between generations of
 * chips.
 */
#define FIRST_GFX9  0xc00a0100u
#define FIRST_GFX10 0xf4080100u /* and gfx11 */
#define FIRST_GFX12 0xf4004100u

static const struct {
	enum kernel_emulation kind;
	unsigned int at;
	uint32_t first, value;
} signatures[] = {
	{EMULATE_BLIT_ALIGNED, 8, FIRST_GFX9, 0xc00a0500u},
	{EMULATE_BLIT_ALIGNED, 8, FIRST_GFX10, 0xf4080500u},
	{EMULATE_BLIT_ALIGNED, 8, FIRST_GFX12, 0xf4004500u},
	{EMULATE_BLIT_MISALIGNED, 6, FIRST_GFX9, 0xc0020400u},
	{EMULATE_BLIT_MISALIGNED, 6, FIRST_GFX10, 0xf4000400u},
	{EMULATE_BLIT_MISALIGNED, 6, FIRST_GFX12, 0xf4000400u},
	{EMULATE_BLIT_FILL, 4, FIRST_GFX9, 0xbf8c007fu},
	{EMULATE_BLIT_FILL, 4, FIRST_GFX9, 0xbf8cc07fu}, /* ROCr 6 */
	{EMULATE_BLIT_FILL, 4, FIRST_GFX10, 0xbf8cc07fu},
	{EMULATE_BLIT_FILL, 4, FIRST_GFX10, 0xbf89fc07u}, /* gfx11 */
	{EMULATE_BLIT_FILL, 4, FIRST_GFX12, 0xbf89fc07u},
};

/* Kernel arguments as ROCr lays them out (BlitKernel::KernelArgs). */
struct blit_aligned {
	uint64_t src, dst, phase2_src, phase2_dst, phase3_src, phase3_dst, phase4_src, phase4_dst;
	uint64_t src_end, dst_end;
};

struct blit_misaligned {
	uint64_t src, dst, phase2_src, phase2_dst, src_end, dst_end;
};

struct blit_fill {
	uint64_t dst, phase2_dst, dst_end;
	uint32_t value;
};

enum kernel_emulation blit_recognise(uint64_t object)
{
	const amd_kernel_code_t *code = (const amd_kernel_code_t *)(uintptr_t)object;
	const uint32_t *isa;
	struct mem_info mem;

	if (!memory_find(object, &mem) || mem.base + mem.size - object < sizeof(*code) + 64 ||
		code->kernel_code_entry_byte_offset != sizeof(*code))
		return EMULATE_NONE;
	isa = (const uint32_t *)(code + 1);
	for (size_t i = 0; i < sizeof(signatures) / sizeof(signatures[0]); i++) {
		if (isa[0] == signatures[i].first && isa[signatures[i].at] == signatures[i].value)
			return signatures[i].kind;
	}
	return EMULATE_NONE;
}

static uint64_t copy(uint64_t dst, uint64_t src, uint64_t bytes)
{
	memmove(memory_host(dst), memory_host(src), bytes);
	return bytes;
}

static uint64_t fill32(uint64_t dst, uint32_t value, uint64_t bytes)
{
	uint32_t *at = memory_host(dst);

	for (uint64_t i = 0; i < bytes / sizeof(*at); i++)
		at[i] = value;
	return bytes;
}

/*
 * HIP's own kernels, found by name; arguments as in the OpenCL source that
 * libamdhip64 embeds. Origins and sizes count elements of the given width.
 */
struct hip_copy {
	uint64_t src, dst, src_origin, dst_origin, size;
	uint32_t extra; /* aligned: bytes per element; else: bytes after the last whole dword */
};

/* From ROCm 6 on: sizes in bytes, in elements of 4 or 16 plus a remainder. */
struct hip_copy_later {
	uint64_t src, dst, size;
	uint32_t remainder, aligned_size;
	uint64_t end;
};

struct hip_rect {
	uint64_t src, dst, pad[2];
	uint64_t src_rect[4]; /* row pitch, slice pitch, start */
	uint64_t dst_rect[4];
	uint64_t size[4]; /* x, y, z, bytes per element when aligned */
};

struct hip_fill {
	uint64_t buffer[4]; /* for 1, 2, 4 and 8 byte elements: one is set */
	uint64_t pattern;
	uint32_t pattern_size; /* elements */
	uint32_t pad;
	uint64_t offset;
	uint64_t width; /* 1D: patterns */
	uint64_t height, pitch;
};

struct hip_fill_later {
	uint64_t buffer, pattern;
	uint32_t pattern_size; /* elements */
	uint32_t alignment;    /* bytes per element */
	uint64_t end;
};

struct hip_write {
	uint64_t ptr32, ptr64, value;
};

/*
 * Only the values distinguish the layouts. The earlier one has the upper half of an origin there.
 */
static bool is_later_copy(const struct hip_copy_later *c)
{
	return (c->aligned_size == 4 || c->aligned_size == 16) && c->remainder <= c->size &&
	       c->end == c->dst + c->size - c->remainder;
}

/* The last workitem copies what is left after whole dwords. */
static uint64_t hip_copy(const void *args)
{
	const struct hip_copy_later *later = args;
	const struct hip_copy *c = args;

	if (is_later_copy(later))
		return copy(later->dst, later->src, later->size);
	return copy(c->dst + c->dst_origin, c->src + c->src_origin, (c->size - 1) * 4 + c->extra);
}

static uint64_t hip_copy_aligned(const void *args)
{
	const struct hip_copy *c = args;

	return copy(c->dst + c->dst_origin * c->extra, c->src + c->src_origin * c->extra,
		c->size * c->extra);
}

static uint64_t copy_rect(const struct hip_rect *r, uint64_t width)
{
	const uint8_t *src = memory_host(r->src);
	uint8_t *dst = memory_host(r->dst);

	for (uint64_t z = 0; z < r->size[2]; z++) {
		for (uint64_t y = 0; y < r->size[1]; y++) {
			uint64_t s = r->src_rect[2] + y * r->src_rect[0] + z * r->src_rect[1];
			uint64_t d = r->dst_rect[2] + y * r->dst_rect[0] + z * r->dst_rect[1];

			memmove(dst + d * width, src + s * width, r->size[0] * width);
		}
	}
	return r->size[0] * r->size[1] * r->size[2] * width;
}

static uint64_t hip_copy_rect(const void *args)
{
	return copy_rect(args, 1);
}

static uint64_t hip_copy_rect_aligned(const void *args)
{
	const struct hip_rect *r = args;

	return copy_rect(r, r->size[3]);
}

static uint64_t fill_rows(const struct hip_fill *f, uint64_t height, uint64_t pitch)
{
	for (unsigned int i = 0; i < 4; i++) {
		uint64_t element = 1ull << i, bytes = f->pattern_size * element;
		uint8_t *dst = memory_host(f->buffer[i] + f->offset * element);
		const uint8_t *pattern = memory_host(f->pattern);

		if (!f->buffer[i])
			continue;
		for (uint64_t y = 0; y < height; y++) {
			for (uint64_t x = 0; x < f->width; x++)
				memcpy(dst + y * pitch * element + x * bytes, pattern, bytes);
		}
		return height * f->width * bytes;
	}
	return 0;
}

static uint64_t hip_fill(const void *args)
{
	const struct hip_fill_later *f = args;
	uint64_t bytes = (uint64_t)f->pattern_size * f->alignment;
	const struct hip_fill *earlier = args;
	const uint8_t *pattern;
	uint8_t *at, *end;

	/* The earlier layout sets only one of its four buffers. */
	if (!earlier->buffer[0] || !earlier->buffer[1])
		return fill_rows(earlier, 1, 0);
	at = memory_host(f->buffer);
	end = at + (f->end - f->buffer);
	pattern = memory_host(f->pattern);
	for (; bytes && at < end; at += bytes)
		memcpy(at, pattern, bytes);
	return f->end - f->buffer;
}

static uint64_t hip_fill_2d(const void *args)
{
	const struct hip_fill *f = args;

	return fill_rows(f, f->height, f->pitch);
}

static uint64_t hip_write(const void *args)
{
	const struct hip_write *w = args;

	if (w->ptr32)
		__atomic_store_n(
			(uint32_t *)memory_host(w->ptr32), (uint32_t)w->value, __ATOMIC_RELEASE);
	else
		__atomic_store_n((uint64_t *)memory_host(w->ptr64), w->value, __ATOMIC_RELEASE);
	return w->ptr32 ? 4 : 8;
}

static const struct {
	const char *name;
	uint64_t (*run)(const void *args);
} hip_kernels[] = {
	{"__amd_rocclr_copyBuffer", hip_copy},
	{"__amd_rocclr_copyBufferAligned", hip_copy_aligned},
	{"__amd_rocclr_copyBufferRect", hip_copy_rect},
	{"__amd_rocclr_copyBufferRectAligned", hip_copy_rect_aligned},
	{"__amd_rocclr_fillBufferAligned", hip_fill},
	{"__amd_rocclr_fillBufferAligned2D", hip_fill_2d},
	{"__amd_rocclr_streamOpsWrite", hip_write},
};

int blit_find_hip(const char *name)
{
	for (size_t i = 0; i < sizeof(hip_kernels) / sizeof(hip_kernels[0]); i++) {
		if (!strcmp(hip_kernels[i].name, name))
			return (int)i + 1;
	}
	return 0;
}

uint64_t blit_run(const struct kernel *k, const hsa_kernel_dispatch_packet_t *p)
{
	const void *args = p->kernarg_address;
	const struct blit_aligned *a = args;
	const struct blit_misaligned *m = args;
	const struct blit_fill *f = args;

	if (!args)
		return 0;
	switch (k->emulation) {
	case EMULATE_BLIT_ALIGNED:
		return copy(a->dst, a->src, a->dst_end - a->dst);
	case EMULATE_BLIT_MISALIGNED:
		return copy(m->dst, m->src, m->dst_end - m->dst);
	case EMULATE_BLIT_FILL:
		return fill32(f->dst, f->value, f->dst_end - f->dst);
	case EMULATE_HIP:
		return hip_kernels[k->hip_kind - 1].run(args);
	case EMULATE_NONE:
		break;
	}
	return 0;
}

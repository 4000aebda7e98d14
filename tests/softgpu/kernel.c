// SPDX-License-Identifier: MIT
#include "tests/softgpu/softgpu.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EM_AMDGPU_ID 224
#define CACHE_SLOTS  256u /* to begin with; a power of two */

/* A loaded code object: ROCr copies its segments, ELF header and .dynsym included. */
struct image {
	const uint8_t *base;
	uint64_t size;
};

static const void *image_at(const struct image *im, uint64_t offset, uint64_t size)
{
	if (offset > im->size || size > im->size - offset)
		return NULL;
	return im->base + offset;
}

/* Walks back page by page from @object to the start of its ELF image. */
static bool find_image(uint64_t object, struct image *ret)
{
	struct mem_info mem;
	uint64_t at;

	if (!memory_find(object, &mem))
		return false;
	for (at = object & ~(uint64_t)(SOFTGPU_PAGE - 1); at >= mem.base; at -= SOFTGPU_PAGE) {
		const Elf64_Ehdr *eh = (const Elf64_Ehdr *)(uintptr_t)at;

		if (mem.base + mem.size - at < sizeof(*eh))
			continue;
		if (!memcmp(eh->e_ident, ELFMAG, SELFMAG) && eh->e_machine == EM_AMDGPU_ID) {
			ret->base = (const uint8_t *)(uintptr_t)at;
			ret->size = mem.base + mem.size - at;
			return true;
		}
	}
	return false;
}

struct dynamic {
	uint64_t symtab, strtab, strsz, hash;
};

static bool read_dynamic(const struct image *im, struct dynamic *ret)
{
	const Elf64_Ehdr *eh = image_at(im, 0, sizeof(*eh));
	const Elf64_Phdr *ph;

	*ret = (struct dynamic){0};
	ph = eh ? image_at(im, eh->e_phoff, (uint64_t)eh->e_phnum * sizeof(*ph)) : NULL;
	for (unsigned int i = 0; ph && i < eh->e_phnum; i++) {
		const Elf64_Dyn *d;

		if (ph[i].p_type != PT_DYNAMIC)
			continue;
		d = image_at(im, ph[i].p_vaddr, ph[i].p_memsz);
		for (uint64_t n = 0; d && n < ph[i].p_memsz / sizeof(*d); n++) {
			if (d[n].d_tag == DT_SYMTAB)
				ret->symtab = d[n].d_un.d_ptr;
			else if (d[n].d_tag == DT_STRTAB)
				ret->strtab = d[n].d_un.d_ptr;
			else if (d[n].d_tag == DT_STRSZ)
				ret->strsz = d[n].d_un.d_val;
			else if (d[n].d_tag == DT_HASH)
				ret->hash = d[n].d_un.d_ptr;
		}
	}
	return ret->symtab && ret->strtab && ret->strsz && ret->hash;
}

/* The dynamic symbol NAME.kd whose address is @object, without the suffix; malloc'ed. */
static char *find_name(uint64_t object)
{
	struct image im;
	struct dynamic dyn;
	const uint32_t *hash;
	const Elf64_Sym *sym;
	const char *str;

	if (!find_image(object, &im) || !read_dynamic(&im, &dyn))
		return NULL;
	hash = image_at(&im, dyn.hash, 8);
	str = image_at(&im, dyn.strtab, dyn.strsz);
	sym = hash ? image_at(&im, dyn.symtab, hash[1] * sizeof(*sym)) : NULL;
	if (!sym || !str)
		return NULL;
	for (uint32_t i = 0; i < hash[1]; i++) {
		const char *name = str + sym[i].st_name;
		size_t len;

		if (sym[i].st_shndx == SHN_UNDEF || sym[i].st_name >= dyn.strsz ||
			(uintptr_t)im.base + sym[i].st_value != object)
			continue;
		len = strnlen(name, dyn.strsz - sym[i].st_name);
		if (len > 3 && !memcmp(name + len - 3, ".kd", 3))
			return strndup(name, len - 3);
	}
	return NULL;
}

static const char *const blit_names[] = {
	[EMULATE_BLIT_ALIGNED] = "softgpu_rocr_copy_aligned",
	[EMULATE_BLIT_MISALIGNED] = "softgpu_rocr_copy_misaligned",
	[EMULATE_BLIT_FILL] = "softgpu_rocr_fill",
};

static struct kernel *kernel_new(char *name, enum kernel_emulation emulation, uint32_t gpu)
{
	struct kernel *k = calloc(1, sizeof(*k));

	if (!k || script_match_kernel(name, gpu, &k->match)) {
		free(k);
		free(name);
		return NULL;
	}
	k->name = name;
	k->emulation = emulation;
	k->hip_kind = blit_find_hip(name);
	if (k->hip_kind)
		k->emulation = EMULATE_HIP;
	k->truth_name = truth_add_name(name);
	if (k->emulation != EMULATE_NONE)
		k->truth_flags |= SOFTGPU_TRUTH_EMULATED;
	k->is_fixed = script_match_is_fixed(&k->match);
	script_eval(&k->match, 0, &k->fixed);
	return k;
}

/* Found by name: a code object that is loaded again continues its ordinals. */
static struct kernel *find_or_make(struct kernel_cache *c, uint64_t object, uint32_t gpu)
{
	enum kernel_emulation emulation = EMULATE_NONE;
	char *name = find_name(object), unknown[40];
	bool is_unknown = false;
	struct kernel *k;

	if (!name) {
		emulation = blit_recognise(object);
		is_unknown = emulation == EMULATE_NONE;
		snprintf(unknown, sizeof(unknown), "unknown_%llx", (unsigned long long)object);
		name = strdup(is_unknown ? unknown : blit_names[emulation]);
	}
	if (!name)
		return NULL;
	for (k = c->list; k; k = k->next) {
		if (!strcmp(k->name, name)) {
			free(name);
			return k;
		}
	}
	k = kernel_new(name, emulation, gpu);
	if (!k)
		return NULL;
	if (is_unknown)
		k->truth_flags |= SOFTGPU_TRUTH_NAME_UNKNOWN;
	k->next = c->list;
	c->list = k;
	return k;
}

static struct kernel_slot *find_slot(struct kernel_cache *c, uint64_t object)
{
	uint32_t at = (uint32_t)((object >> 6) * 0x9e3779b97f4a7c15u >> 40);

	while (c->slot[at & (c->slots - 1)].object && c->slot[at & (c->slots - 1)].object != object)
		at++;
	return &c->slot[at & (c->slots - 1)];
}

static bool make_room(struct kernel_cache *c)
{
	struct kernel_slot *old = c->slot;
	uint32_t slots = c->slots;

	if (c->used * 2 < c->slots)
		return true;
	c->slot = calloc(slots ? slots * 2 : CACHE_SLOTS, sizeof(*c->slot));
	if (!c->slot) {
		c->slot = old;
		return c->used + 1 < slots;
	}
	c->slots = slots ? slots * 2 : CACHE_SLOTS;
	for (uint32_t i = 0; i < slots; i++) {
		if (old[i].object)
			*find_slot(c, old[i].object) = old[i];
	}
	free(old);
	return true;
}

struct kernel *kernel_get(struct kernel_cache *c, uint64_t object, uint32_t gpu)
{
	uint64_t generation = memory_code_generation();
	struct kernel_slot *s;
	struct kernel *k;

	/* Freed memory may hold another code object by now. */
	if (c->generation != generation) {
		if (c->slot)
			memset(c->slot, 0, c->slots * sizeof(*c->slot));
		c->used = 0;
		c->generation = generation;
	}
	if (c->slot && object) {
		s = find_slot(c, object);
		if (s->object)
			return s->kernel;
	}
	k = find_or_make(c, object, gpu);
	if (k && object && make_room(c)) {
		s = find_slot(c, object);
		*s = (struct kernel_slot){object, k};
		c->used++;
	}
	return k;
}

void kernel_cache_done(struct kernel_cache *c)
{
	while (c->list) {
		struct kernel *k = c->list;

		c->list = k->next;
		free(k->match.rule);
		free(k->name);
		free(k);
	}
	free(c->slot);
	*c = (struct kernel_cache){0};
}

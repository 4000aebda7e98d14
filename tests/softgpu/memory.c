// SPDX-License-Identifier: MIT
#include "tests/softgpu/softgpu.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HUGE_BYTES (2ull << 20)

/* Allocated by us, or host memory of the application that was registered (locked). */
struct region {
	uint64_t base; /* host address */
	uint64_t size;
	uint64_t gpu;		     /* address for GPUs; differs from base for registered memory */
	uint64_t map_base, map_size; /* what to munmap */
	uint32_t node;
	uint32_t refs; /* registrations nest */
	int fd;	       /* of the memory if it is shared between processes; else -1 */
	bool is_import;
	HsaMemFlags flags;
	void *user_data;
	uint32_t mapped_count;
	HSAuint32 mapped[SOFTGPU_GPUS_MAX];
};

/* Sorted by key (base, or the alias); allocations of a process are few thousands. */
struct region_list {
	struct region **item;
	size_t count, room;
};

/* Freed executable memory, handed out again at the same address, last in first out. */
struct spare {
	struct spare *next;
	uint64_t base, size;
	uint32_t node;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct region_list allocated;  /* by base, disjoint */
static struct region_list registered; /* by base, may overlap */
static struct region_list aliases;    /* the same objects, by gpu, disjoint */
static struct spare *spares;
static uint64_t code_generation = 1;

static uint64_t key_of(const struct region_list *list, const struct region *r)
{
	return list == &aliases ? r->gpu : r->base;
}

/* Index of the first item whose key is above @addr. */
static size_t upper_bound(const struct region_list *list, uint64_t addr)
{
	size_t lo = 0, hi = list->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (key_of(list, list->item[mid]) <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool list_insert(struct region_list *list, struct region *r)
{
	size_t at = upper_bound(list, key_of(list, r));

	if (list->count == list->room) {
		size_t room = list->room ? list->room * 2 : 64;
		struct region **item = reallocarray(list->item, room, sizeof(struct region *));

		if (!item)
			return false;
		list->item = item;
		list->room = room;
	}
	memmove(&list->item[at + 1], &list->item[at], (list->count - at) * sizeof(struct region *));
	list->item[at] = r;
	list->count++;
	return true;
}

static void list_remove(struct region_list *list, const struct region *r)
{
	for (size_t at = upper_bound(list, key_of(list, r)); at-- > 0;) {
		if (list->item[at] == r) {
			memmove(&list->item[at], &list->item[at + 1],
				(list->count - at - 1) * sizeof(struct region *));
			list->count--;
			return;
		}
	}
}

/* The item of a disjoint list that contains @addr. */
static struct region *list_find(const struct region_list *list, uint64_t addr)
{
	size_t at = upper_bound(list, addr);
	struct region *r;

	if (at == 0)
		return NULL;
	r = list->item[at - 1];
	return addr - key_of(list, r) < r->size ? r : NULL;
}

/* The registration that starts at @addr; with several, the youngest. */
static struct region *find_registered(uint64_t addr, uint64_t size)
{
	struct region *best = NULL;

	for (size_t at = upper_bound(&registered, addr); at-- > 0;) {
		struct region *r = registered.item[at];

		if (r->base != addr)
			break;
		if (size && r->size == size)
			return r;
		if (!best)
			best = r;
	}
	return size ? NULL : best;
}

/* Registrations may overlap, so the nearest start need not be the one. */
static struct region *find_registered_around(uint64_t addr)
{
	for (size_t at = upper_bound(&registered, addr); at-- > 0;) {
		if (addr - registered.item[at]->base < registered.item[at]->size)
			return registered.item[at];
	}
	return NULL;
}

static struct region *find_any(uint64_t addr)
{
	struct region *r = list_find(&allocated, addr);

	if (!r)
		r = list_find(&aliases, addr);
	return r ? r : find_registered_around(addr);
}

bool memory_find(uint64_t addr, struct mem_info *ret)
{
	struct region *r;

	pthread_mutex_lock(&lock);
	r = list_find(&allocated, addr);
	if (r)
		*ret = (struct mem_info){r->base, r->size, r->node};
	pthread_mutex_unlock(&lock);
	return r;
}

void *memory_host(uint64_t addr)
{
	struct region *r;

	pthread_mutex_lock(&lock);
	r = list_find(&aliases, addr);
	if (r)
		addr = r->base + (addr - r->gpu);
	pthread_mutex_unlock(&lock);
	return (void *)(uintptr_t)addr;
}

uint64_t memory_code_generation(void)
{
	return __atomic_load_n(&code_generation, __ATOMIC_ACQUIRE);
}

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) & ~(to - 1);
}

/* Reserves address space; @align is a power of two not below the page size. */
static uint64_t map_aligned(uint64_t size, uint64_t align, int prot, struct region *r)
{
	uint64_t room = align > SOFTGPU_PAGE ? size + align : size;
	void *p = mmap(NULL, room, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return 0;
	r->map_base = (uintptr_t)p;
	r->map_size = room;
	return ((uintptr_t)p + align - 1) & ~(align - 1);
}

static bool take_spare(struct region *r, uint64_t align)
{
	for (struct spare **at = &spares; *at; at = &(*at)->next) {
		struct spare *s = *at;

		if (s->size != r->size || s->node != r->node || s->base % align)
			continue;
		r->base = s->base;
		r->map_base = s->base;
		r->map_size = s->size;
		*at = s->next;
		free(s);
		return true;
	}
	return false;
}

static bool put_spare(struct region *r)
{
	struct spare *s = malloc(sizeof(*s));

	if (!s)
		return false;
	/* New memory reads as zeros at the old address. */
	madvise((void *)(uintptr_t)r->base, r->size, MADV_DONTNEED);
	*s = (struct spare){spares, r->base, r->size, r->node};
	spares = s;
	return true;
}

HSAKMT_STATUS memory_alloc(
	HSAuint32 node, HSAuint64 size, HSAuint64 align, HsaMemFlags flags, void **address)
{
	struct region *r;
	bool is_ok;

	if (!address || !size || (align & (align - 1)))
		return HSAKMT_STATUS_INVALID_PARAMETER;
	if (node > softgpu_config.count)
		return HSAKMT_STATUS_INVALID_NODE_UNIT;
	if (softgpu_is_orphan() || !softgpu_is_open())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	if (flags.ui32.FixedAddress)
		return HSAKMT_STATUS_NOT_SUPPORTED;
	r = calloc(1, sizeof(*r));
	if (!r)
		return HSAKMT_STATUS_NO_MEMORY;
	r->size = round_up(size, SOFTGPU_PAGE);
	r->node = node;
	r->flags = flags;
	r->refs = 1;
	r->fd = -1;

	pthread_mutex_lock(&lock);
	if (!align)
		align = r->size >= HUGE_BYTES ? HUGE_BYTES : SOFTGPU_PAGE;
	if (!flags.ui32.ExecuteAccess || !take_spare(r, align))
		r->base = map_aligned(r->size, align > SOFTGPU_PAGE ? align : SOFTGPU_PAGE,
			flags.ui32.Scratch ? PROT_NONE : PROT_READ | PROT_WRITE, r);
	r->gpu = r->base;
	is_ok = r->base && list_insert(&allocated, r);
	pthread_mutex_unlock(&lock);
	if (!is_ok) {
		if (r->base)
			munmap((void *)(uintptr_t)r->map_base, r->map_size);
		free(r);
		return HSAKMT_STATUS_NO_MEMORY;
	}
	*address = (void *)(uintptr_t)r->base;
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtAllocMemory(HSAuint32 node, HSAuint64 size, HsaMemFlags flags, void **address)
{
	return memory_alloc(node, size, 0, flags, address);
}

HSAKMT_STATUS hsaKmtFreeMemory(void *address, HSAuint64 size)
{
	uint64_t base = (uintptr_t)address;
	struct region *r;
	bool is_kept = false;

	(void)size; /* the whole allocation goes, as with the real thunk */
	if (softgpu_is_orphan())
		return HSAKMT_STATUS_SUCCESS;
	pthread_mutex_lock(&lock);
	r = list_find(&allocated, base);
	if (!r || r->base != base) {
		pthread_mutex_unlock(&lock);
		return HSAKMT_STATUS_INVALID_PARAMETER;
	}
	list_remove(&allocated, r);
	if (r->flags.ui32.ExecuteAccess)
		__atomic_add_fetch(&code_generation, 1, __ATOMIC_RELEASE);
	/* Without re-use the address is retired: no later code object gets it. */
	if (r->flags.ui32.ExecuteAccess && r->map_base == r->base && r->fd < 0) {
		if (softgpu_config.reuses_code_memory)
			is_kept = put_spare(r);
		else
			is_kept = mmap(address, r->size, PROT_NONE,
					  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
					  -1, 0) != MAP_FAILED;
	}
	if (!is_kept)
		munmap((void *)(uintptr_t)r->map_base, r->map_size);
	if (r->fd >= 0)
		close(r->fd);
	pthread_mutex_unlock(&lock);
	free(r);
	return HSAKMT_STATUS_SUCCESS;
}

static HSAKMT_STATUS register_host(void *address, uint64_t size, HsaMemFlags flags)
{
	uint64_t base = (uintptr_t)address, page = base & (SOFTGPU_PAGE - 1);
	struct region *r;

	if (!address || !size)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	if (softgpu_is_orphan() || !softgpu_is_open())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	pthread_mutex_lock(&lock);
	r = find_registered(base, size);
	if (r) {
		r->refs++;
		pthread_mutex_unlock(&lock);
		return HSAKMT_STATUS_SUCCESS;
	}
	r = calloc(1, sizeof(*r));
	if (!r)
		goto fail;
	r->base = base;
	r->size = size;
	r->flags = flags;
	r->refs = 1;
	r->fd = -1;
	/*
	 * As on a discrete GPU, the device has another address for it. ROCr relies on that. Only
	 * our copy engines, which translate it, may access the alias.
	 */
	r->gpu = map_aligned(round_up(page + size, SOFTGPU_PAGE), SOFTGPU_PAGE, PROT_NONE, r);
	if (!r->gpu)
		goto fail;
	r->gpu += page;
	if (!list_insert(&registered, r))
		goto fail_unmap;
	if (!list_insert(&aliases, r)) {
		list_remove(&registered, r);
		goto fail_unmap;
	}
	pthread_mutex_unlock(&lock);
	return HSAKMT_STATUS_SUCCESS;

fail_unmap:
	munmap((void *)(uintptr_t)r->map_base, r->map_size);
fail:
	pthread_mutex_unlock(&lock);
	free(r);
	return HSAKMT_STATUS_NO_MEMORY;
}

HSAKMT_STATUS hsaKmtRegisterMemoryWithFlags(void *address, HSAuint64 size, HsaMemFlags flags)
{
	return register_host(address, size, flags);
}

HSAKMT_STATUS hsaKmtRegisterMemory(void *address, HSAuint64 size)
{
	return register_host(address, size, (HsaMemFlags){{.Value = 0}});
}

HSAKMT_STATUS hsaKmtRegisterMemoryToNodes(
	void *address, HSAuint64 size, HSAuint64 nodes, HSAuint32 *node)
{
	(void)nodes; /* every GPU sees everything */
	(void)node;
	return register_host(address, size, (HsaMemFlags){{.Value = 0}});
}

/* Memory that another process shared with us is released by the same call as a registration. */
static void drop_import(uint64_t base)
{
	struct region *r = list_find(&allocated, base);

	if (!r || !r->is_import || r->base != base)
		return;
	list_remove(&allocated, r);
	munmap((void *)(uintptr_t)r->map_base, r->map_size);
	close(r->fd);
	free(r);
}

HSAKMT_STATUS hsaKmtDeregisterMemory(void *address)
{
	struct region *r;

	if (softgpu_is_orphan())
		return HSAKMT_STATUS_SUCCESS;
	pthread_mutex_lock(&lock);
	r = find_registered((uintptr_t)address, 0);
	if (r && --r->refs == 0) {
		list_remove(&registered, r);
		list_remove(&aliases, r);
		munmap((void *)(uintptr_t)r->map_base, r->map_size);
		free(r);
	}
	if (!r)
		drop_import((uintptr_t)address);
	pthread_mutex_unlock(&lock);
	/* Memory that we allocated may be "registered" too; there is nothing to undo. */
	return HSAKMT_STATUS_SUCCESS;
}

static HSAKMT_STATUS map_nodes(
	void *address, uint64_t size, HSAuint64 *alternate, uint64_t nodes, const HSAuint32 *node)
{
	uint64_t addr = (uintptr_t)address;
	struct region *r;

	if (softgpu_is_orphan())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	if (alternate)
		*alternate = 0;
	pthread_mutex_lock(&lock);
	r = find_registered(addr, size);
	if (!r)
		r = find_any(addr);
	if (r) {
		r->mapped_count = 0;
		for (uint64_t i = 0; i < nodes && i < SOFTGPU_GPUS_MAX; i++)
			r->mapped[r->mapped_count++] = node ? node[i] : (HSAuint32)(i + 1);
		if (alternate && r->gpu != r->base)
			*alternate = r->gpu + (addr - r->base);
	}
	pthread_mutex_unlock(&lock);
	return r ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_PARAMETER;
}

HSAKMT_STATUS hsaKmtMapMemoryToGPU(void *address, HSAuint64 size, HSAuint64 *alternate)
{
	return map_nodes(address, size, alternate, softgpu_config.count, NULL);
}

HSAKMT_STATUS hsaKmtMapMemoryToGPUNodes(void *address, HSAuint64 size, HSAuint64 *alternate,
	HsaMemMapFlags flags, HSAuint64 nodes, HSAuint32 *node)
{
	(void)flags;
	return map_nodes(address, size, alternate, nodes, node);
}

HSAKMT_STATUS hsaKmtUnmapMemoryToGPU(void *address)
{
	struct region *r;

	if (softgpu_is_orphan())
		return HSAKMT_STATUS_SUCCESS;
	pthread_mutex_lock(&lock);
	r = find_any((uintptr_t)address);
	if (r)
		r->mapped_count = 0;
	pthread_mutex_unlock(&lock);
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtQueryPointerInfo(const void *pointer, HsaPointerInfo *info)
{
	struct region *r;
	bool is_ours;

	if (!info)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	/* ROCr reads every field even when we fail. */
	memset(info, 0, sizeof(*info));
	if (softgpu_is_orphan())
		return HSAKMT_STATUS_ERROR;
	pthread_mutex_lock(&lock);
	is_ours = list_find(&allocated, (uintptr_t)pointer);
	r = find_any((uintptr_t)pointer);
	if (r && !r->flags.ui32.Scratch) {
		info->Type = r->is_import ? HSA_POINTER_REGISTERED_SHARED
			     : is_ours	  ? HSA_POINTER_ALLOCATED
					  : HSA_POINTER_REGISTERED_USER;
		info->Node = r->node;
		info->MemFlags = r->flags;
		info->CPUAddress = (void *)(uintptr_t)r->base;
		info->GPUAddress = r->gpu;
		info->SizeInBytes = r->size;
		info->NMappedNodes = r->mapped_count;
		info->MappedNodes = r->mapped;
		info->UserData = r->user_data;
	}
	pthread_mutex_unlock(&lock);
	return info->Type ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_ERROR;
}

HSAKMT_STATUS hsaKmtSetMemoryUserData(const void *pointer, void *data)
{
	struct region *r;

	if (softgpu_is_orphan())
		return HSAKMT_STATUS_ERROR;
	pthread_mutex_lock(&lock);
	r = find_any((uintptr_t)pointer);
	if (r)
		r->user_data = data;
	pthread_mutex_unlock(&lock);
	return r ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_PARAMETER;
}

/*
 * Memory shared between processes: the eight words of a handle. Word 6 is ROCr's, for the offset in
 * an allocation.
 */
struct share_handle {
	uint32_t magic;
	uint32_t pid;
	uint32_t fd;	/* in that process */
	uint32_t inode; /* of that file */
	uint32_t node;
	uint32_t pages;
	uint32_t offset;
	uint32_t reserved;
};
static_assert(sizeof(struct share_handle) == sizeof(HsaSharedMemoryHandle), "of the headers");
#define SHARE_MAGIC 0x53475348u

/*
 * Replaces private memory by a file with the same contents. Nothing may write to the memory
 * meanwhile.
 */
static bool back_by_file(struct region *r)
{
	static const uint8_t zeros[SOFTGPU_PAGE];
	int fd = memfd_create("softgpu.shared", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, (off_t)r->size))
		goto fail;
	for (uint64_t at = 0; at < r->size; at += SOFTGPU_PAGE) {
		const void *page = (const void *)(uintptr_t)(r->base + at);

		if (memcmp(page, zeros, SOFTGPU_PAGE) != 0 &&
			pwrite(fd, page, SOFTGPU_PAGE, (off_t)at) != SOFTGPU_PAGE)
			goto fail;
	}
	if (mmap((void *)(uintptr_t)r->base, r->size, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, 0) == MAP_FAILED)
		goto fail;
	r->fd = fd;
	return true;
fail:
	if (fd >= 0)
		close(fd);
	return false;
}

HSAKMT_STATUS hsaKmtShareMemory(void *address, HSAuint64 size, HsaSharedMemoryHandle *handle)
{
	HSAKMT_STATUS status = HSAKMT_STATUS_INVALID_PARAMETER;
	struct region *r;
	struct stat st;

	if (!handle || !size)
		return status;
	if (softgpu_is_orphan() || !softgpu_is_open())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	queue_hold_all();
	pthread_mutex_lock(&lock);
	r = list_find(&allocated, (uintptr_t)address);
	if (r && r->base == (uintptr_t)address && round_up(size, SOFTGPU_PAGE) == r->size &&
		!r->flags.ui32.Scratch)
		status = r->fd >= 0 || back_by_file(r) ? HSAKMT_STATUS_SUCCESS
						       : HSAKMT_STATUS_NO_MEMORY;
	if (!status && !fstat(r->fd, &st)) {
		const struct share_handle h = {.magic = SHARE_MAGIC,
			.pid = (uint32_t)getpid(),
			.fd = (uint32_t)r->fd,
			.inode = (uint32_t)st.st_ino,
			.node = r->node,
			.pages = (uint32_t)(r->size / SOFTGPU_PAGE)};

		memcpy(handle, &h, sizeof(h));
	}
	pthread_mutex_unlock(&lock);
	queue_release_all();
	return status;
}

/* A descriptor of the handle's file, or -1 if its process has freed it or is gone. */
static int open_shared(const struct share_handle *h)
{
	struct stat st;
	char path[48];
	int fd;

	if (h->magic != SHARE_MAGIC || h->node > softgpu_config.count)
		return -1;
	snprintf(path, sizeof(path), "/proc/%u/fd/%u", h->pid, h->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && (uint32_t)st.st_ino == h->inode &&
		(uint64_t)st.st_size == (uint64_t)h->pages * SOFTGPU_PAGE)
		return fd;
	close(fd);
	return -1;
}

/* At a new address, also in the process that shared it. */
HSAKMT_STATUS hsaKmtRegisterSharedHandle(
	const HsaSharedMemoryHandle *handle, void **address, HSAuint64 *size)
{
	struct share_handle h;
	struct region *r;
	bool is_ok;

	if (!handle || !address || !size)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	if (softgpu_is_orphan() || !softgpu_is_open())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	memcpy(&h, handle, sizeof(h));
	r = calloc(1, sizeof(*r));
	if (!r)
		return HSAKMT_STATUS_NO_MEMORY;
	r->fd = open_shared(&h);
	if (r->fd < 0) {
		free(r);
		return HSAKMT_STATUS_INVALID_HANDLE;
	}
	r->is_import = true;
	r->size = (uint64_t)h.pages * SOFTGPU_PAGE;
	r->node = h.node;
	r->flags.ui32.HostAccess = 1;
	r->refs = 1;
	pthread_mutex_lock(&lock);
	r->base = map_aligned(
		r->size, r->size >= HUGE_BYTES ? HUGE_BYTES : SOFTGPU_PAGE, PROT_NONE, r);
	r->gpu = r->base;
	is_ok = r->base &&
		mmap((void *)(uintptr_t)r->base, r->size, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_FIXED | MAP_NORESERVE, r->fd, 0) != MAP_FAILED &&
		list_insert(&allocated, r);
	pthread_mutex_unlock(&lock);
	if (!is_ok) {
		if (r->base)
			munmap((void *)(uintptr_t)r->map_base, r->map_size);
		close(r->fd);
		free(r);
		return HSAKMT_STATUS_NO_MEMORY;
	}
	*address = (void *)(uintptr_t)r->base;
	*size = r->size;
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtRegisterSharedHandleToNodes(const HsaSharedMemoryHandle *handle, void **address,
	HSAuint64 *size, HSAuint64 nodes, HSAuint32 *node)
{
	(void)nodes; /* every GPU sees everything */
	(void)node;
	return hsaKmtRegisterSharedHandle(handle, address, size);
}

static void free_list(struct region_list *list, bool owns)
{
	for (size_t i = 0; owns && i < list->count; i++) {
		munmap((void *)(uintptr_t)list->item[i]->map_base, list->item[i]->map_size);
		free(list->item[i]);
	}
	free(list->item);
	*list = (struct region_list){0};
}

/*
 * After the last hsaKmtCloseKFD the bookkeeping is dropped. What the application still has
 * allocated stays mapped, so that a late reader does not crash.
 */
void memory_reset(void)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < allocated.count; i++) {
		if (allocated.item[i]->fd >= 0)
			close(allocated.item[i]->fd);
		free(allocated.item[i]);
	}
	free_list(&allocated, false);
	free_list(&aliases, false);
	free_list(&registered, true);
	while (spares) {
		struct spare *s = spares;

		spares = s->next;
		munmap((void *)(uintptr_t)s->base, s->size);
		free(s);
	}
	__atomic_add_fetch(&code_generation, 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
}

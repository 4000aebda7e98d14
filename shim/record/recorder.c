// SPDX-License-Identifier: MIT
#include "shim/record/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "proto/recorder/checksum.h"
#include "proto/base/limits.h"
#include "shim/base/ahead.h"
#include "shim/base/fd.h"
#include "shim/base/wait.h"

#define PAGE_BYTES	     4096u
/* If the address space is limited, the recorder takes at most this part of what is left. */
#define ADDRESS_SPACE_PART   16u
/*
 * A shape is what dispatches have in common. Where the log is full, a coarser one is defined,
 * without geometry or kernel. This is reserved for those that name only their queue (31 bytes): one
 * a queue.
 */
#define DEFINE_QUEUES_BYTES  (RECORDER_QUEUES * 32u)
/* Also reserved for other coarser shapes: 7500 of 35 bytes, and their names. */
#define DEFINE_RESERVE_BYTES ((256u << 10) + DEFINE_QUEUES_BYTES)
/*
 * The first PATIENCE_YIELDS checks yield. The others sleep some 100 us each, in all a fifth of the
 * time that the end of a process may take.
 */
#define DEFINE_CHECKS_AT_END (PATIENCE_YIELDS + 100u)

static_assert(RECORDER_ANCHORS == 16, "struct recorder_anchors");

static struct recorder_region region_put(uint64_t *end, uint32_t count, uint32_t stride)
{
	struct recorder_region region = {.offset = *end, .count = count, .stride = stride};
	uint64_t bytes = (uint64_t)count * stride;

	*end += (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
	return region;
}

static uint64_t header_lay_out(struct recorder_header *header)
{
	uint64_t end = (sizeof(*header) + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;

	header->slots = region_put(&end, RECORDER_SLOTS, sizeof(struct recorder_slot));
	header->cells = region_put(&end, RECORDER_CELLS, RECORDER_CELL_BYTES);
	header->queues = region_put(&end, RECORDER_QUEUES, sizeof(struct recorder_queue));
	header->anchors = region_put(&end, RECORDER_GPUS, sizeof(struct recorder_anchors));
	header->defines = region_put(&end, RECORDER_DEFINE_BYTES, 1);
	header->markers = region_put(&end, RECORDER_MARKERS, sizeof(struct recorder_marker));
	header->calls = region_put(&end, RECORDER_CALLS, sizeof(struct recorder_call));
	header->spare_calls = region_put(&end, RECORDER_CALLS_SPARE, sizeof(struct recorder_call));
	header->hello = region_put(&end, RECORDER_HELLO_BYTES, 1);
	return end;
}
static_assert((uint64_t)RECORDER_SLOTS * sizeof(struct recorder_slot) +
			      (uint64_t)RECORDER_CELLS * RECORDER_CELL_BYTES +
			      (uint64_t)RECORDER_MARKERS * sizeof(struct recorder_marker) +
			      (uint64_t)(RECORDER_CALLS + RECORDER_CALLS_SPARE) *
				      sizeof(struct recorder_call) +
			      RECORDER_DEFINE_BYTES + (1u << 20) <
		      RECORDER_BYTES_MAX,
	"recorder bytes");

/* Sparse on purpose: a page takes memory only once it was written. */
static int memfd_make(size_t bytes, int *ret)
{
	struct rlimit limit;
	int fd, r;

	/* A ftruncate() past this limit would raise SIGXFSZ, which ends the program. */
	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < bytes)
		return -EFBIG;
	fd = fd_keep(memfd_create("rtl-recorder", MFD_CLOEXEC | MFD_ALLOW_SEALING));
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)bytes) < 0 ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	*ret = fd;
	return 0;
}

static void header_fill(
	struct recorder_header *header, const struct recorder_identity *identity, uint64_t total)
{
	header->magic = RECORDER_MAGIC;
	header->layout = RECORDER_LAYOUT;
	header->header_bytes = sizeof(*header);
	header->total_bytes = total;
	memcpy(header->boot_id, identity->boot_id, sizeof(header->boot_id));
	memcpy(header->token, identity->token, sizeof(header->token));
	header->pid = identity->pid;
	header->start_time = identity->start_time;
}

/*
 * A program that limits its address space has planned with the limit. The recorder takes only a
 * part of what is left, or an allocation of the program could fail later.
 */
static bool has_address_space(uint64_t bytes)
{
	char text[64] = "";
	struct rlimit limit;
	uint64_t used, left;
	ssize_t got;
	int fd;

	if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return true;
	fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	got = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (fd >= 0)
		close(fd);
	used = got > 0 ? strtoull(text, NULL, 10) * PAGE_BYTES : UINT64_MAX;
	left = limit.rlim_cur > used ? limit.rlim_cur - used : 0;
	return left / ADDRESS_SPACE_PART >= bytes;
}

static struct event_ring ring_over(
	struct recorder *recorder, const struct recorder_region *region, enum recorder_ring which)
{
	return (struct event_ring){recorder->base + region->offset, &recorder->ring_ends[which],
		region->count, region->stride};
}

int recorder_create(const struct recorder_identity *identity, struct recorder *ret)
{
	struct recorder_header plan = {0};
	uint64_t total = header_lay_out(&plan);
	void *base;
	int r;

	memset(ret, 0, sizeof(*ret));
	ret->fd = -1;
	if (!has_address_space(total))
		return -ENOMEM;
	r = memfd_make(total, &ret->fd);
	ret->fd_mark = fd_mark(ret->fd);
	if (r < 0)
		return r;
	base = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_SHARED, ret->fd, 0);
	if (base == MAP_FAILED) {
		r = -errno;
		close(ret->fd);
		ret->fd = -1;
		return r;
	}
	/* A forked child must not write into its parent's recorder. */
	if (madvise(base, total, MADV_DONTFORK) < 0) {
		r = -errno;
		munmap(base, total);
		close(ret->fd);
		ret->fd = -1;
		return r;
	}
	ret->base = base;
	ret->bytes = total;
	ret->header = base;
	(void)header_lay_out(ret->header);
	header_fill(ret->header, identity, total);
	ret->slots = (struct recorder_slot *)(ret->base + plan.slots.offset);
	ret->cells = ret->base + plan.cells.offset;
	ret->queues = (struct recorder_queue *)(ret->base + plan.queues.offset);
	ret->anchors = (struct recorder_anchors *)(ret->base + plan.anchors.offset);
	ret->defines = ret->base + plan.defines.offset;
	ret->rings[RECORDER_RING_MARKERS] = ring_over(ret, &plan.markers, RECORDER_RING_MARKERS);
	ret->rings[RECORDER_RING_CALLS] = ring_over(ret, &plan.calls, RECORDER_RING_CALLS);
	ret->rings[RECORDER_RING_SPARE_CALLS] =
		ring_over(ret, &plan.spare_calls, RECORDER_RING_SPARE_CALLS);
	ret->hello = ret->base + plan.hello.offset;
	ret->open_frame = 1;
	atomic_store_explicit(&ret->header->ready, 1, memory_order_release);
	return 0;
}

void recorder_put_hello(struct recorder *recorder, const uint8_t *frame, size_t bytes)
{
	if (bytes > RECORDER_HELLO_BYTES)
		return;
	memcpy(recorder->hello, frame, bytes);
	atomic_store_explicit(&recorder->header->hello_bytes, bytes, memory_order_release);
}

void recorder_close(struct recorder *recorder)
{
	if (recorder->base)
		munmap(recorder->base, recorder->bytes);
	if (fd_is(recorder->fd, recorder->fd_mark))
		close(recorder->fd);
	memset(recorder, 0, sizeof(*recorder));
	recorder->fd = -1;
}

bool recorder_slots_carve(
	struct recorder *recorder, uint32_t count, uint32_t keep, uint32_t *ret_first)
{
	_Atomic uint64_t *used = &recorder->header->slots_used;
	uint64_t first = atomic_load_explicit(used, memory_order_relaxed);

	do
		if (first + count + keep > RECORDER_SLOTS)
			return false;
	while (!atomic_compare_exchange_weak_explicit(
		used, &first, first + count, memory_order_release, memory_order_relaxed));
	recorder_count(recorder, RTL_P_slots_used, count);
	*ret_first = (uint32_t)first;
	return true;
}

void recorder_slots_touch(const struct recorder *recorder, uint32_t first, uint32_t count)
{
	struct recorder_slot *slot = recorder->slots + first;

	if (fd_is(recorder->fd, recorder->fd_mark))
		ahead_all_of_file(recorder->fd, (uint64_t)((uint8_t *)slot - recorder->base), slot,
			count * sizeof(*slot));
}

/*
 * The lock is held for one memcpy(). A dispatching thread tries once, a thread that ends the
 * process tries for some milliseconds, and all others wait.
 */
static int define_lock(struct recorder *recorder, unsigned how)
{
	unsigned checks = 0, left = DEFINE_CHECKS_AT_END;

	while (atomic_exchange_explicit(&recorder->define_lock, 1, memory_order_acquire)) {
		if (how & RECORDER_DEFINE_TRY || (how & RECORDER_DEFINE_END && !left--))
			return -EAGAIN;
		wait_between_checks(&checks);
	}
	return 0;
}

int recorder_define(struct recorder *recorder, const void *frame, size_t bytes, unsigned how)
{
	struct recorder_header *header = recorder->header;
	size_t room = RECORDER_DEFINE_BYTES;
	uint64_t end;
	int r;

	if (!(how & RECORDER_DEFINE_QUEUE))
		room -= how & RECORDER_DEFINE_LAST ? DEFINE_QUEUES_BYTES : DEFINE_RESERVE_BYTES;
	r = define_lock(recorder, how);
	if (r < 0)
		return r;
	end = atomic_load_explicit(&header->define_bytes, memory_order_relaxed);
	if (bytes > room || end > room - bytes) {
		r = -ENOSPC;
	} else {
		memcpy(recorder->defines + end, frame, bytes);
		/* Published last, so that a reader never sees a partial definition. */
		atomic_store_explicit(&header->define_bytes, end + bytes, memory_order_release);
	}
	atomic_store_explicit(&recorder->define_lock, 0, memory_order_release);
	return r;
}

const uint8_t *recorder_defines_from(
	const struct recorder *recorder, uint64_t offset, size_t *ret_bytes)
{
	uint64_t end = atomic_load_explicit(&recorder->header->define_bytes, memory_order_acquire);

	*ret_bytes = offset < end ? (size_t)(end - offset) : 0;
	return recorder->defines + offset;
}

void recorder_anchor_set_rate(struct recorder *recorder, uint32_t gpu, uint64_t tick_hz)
{
	if (gpu < RECORDER_GPUS)
		recorder->anchors[gpu].tick_hz = tick_hz;
}

void recorder_anchor_add(
	struct recorder *recorder, uint32_t gpu, const struct recorder_anchor *anchor)
{
	struct recorder_anchors *anchors;
	uint64_t count;

	if (gpu >= RECORDER_GPUS)
		return;
	anchors = &recorder->anchors[gpu];
	count = atomic_load_explicit(&anchors->count, memory_order_relaxed);
	anchors->entry[count % RECORDER_ANCHORS] = *anchor;
	atomic_store_explicit(&anchors->count, count + 1, memory_order_release);
	recorder_count(recorder, RTL_P_clock_anchors, 1);
}

static struct recorder_cell *cell_of(const struct recorder *recorder, uint64_t number)
{
	return (struct recorder_cell *)(recorder->cells +
					number % RECORDER_CELLS * RECORDER_CELL_BYTES);
}

void *recorder_cell_bytes(const struct recorder *recorder, uint64_t number)
{
	return cell_of(recorder, number);
}

int recorder_frame_open(struct recorder *recorder, struct recorder_open *ret)
{
	/*
	 * Acquire: the connection's thread has finished reading the cell before its bytes change.
	 */
	uint64_t acked = atomic_load_explicit(&recorder->acked, memory_order_acquire);
	uint64_t number = recorder->open_frame;
	struct recorder_cell *cell = cell_of(recorder, number);

	if (number - acked > RECORDER_CELLS)
		return -EAGAIN;
	/*
	 * An exchange, so that no byte of the new frame becomes visible before the old number is
	 * gone.
	 */
	atomic_exchange(&cell->number, 0);
	*ret = (struct recorder_open){
		.number = number,
		.cell = cell,
		.bytes = (uint8_t *)(cell + 1),
		.room = RECORDER_CELL_BYTES - sizeof(*cell),
	};
	return 0;
}

void recorder_frame_publish(struct recorder *recorder, const struct recorder_open *open,
	size_t length, uint32_t records)
{
	open->cell->length = (uint32_t)length;
	open->cell->records = records;
	open->cell->checksum = checksum32(open->bytes, length, open->number);
	atomic_store_explicit(&open->cell->number, open->number, memory_order_release);
	recorder->open_frame = open->number + 1;
	recorder_count(recorder, RTL_P_frames_published, 1);
	recorder_count(recorder, RTL_P_bytes_published, length);
	atomic_store_explicit(&recorder->header->published, open->number, memory_order_release);
}

bool recorder_next_unsent(const struct recorder *recorder, uint64_t *ret_number,
	const uint8_t **ret_frame, size_t *ret_bytes)
{
	uint64_t number = recorder->sent + 1;
	const struct recorder_cell *cell = cell_of(recorder, number);

	if (number > recorder_published(recorder))
		return false;
	*ret_number = number;
	*ret_frame = (const uint8_t *)(cell + 1);
	*ret_bytes = cell->length;
	return true;
}

void recorder_sent(struct recorder *recorder, uint64_t number)
{
	recorder->sent = number;
	if (number <= recorder->sent_most)
		recorder_count(recorder, RTL_P_sent_again, 1);
	else
		recorder->sent_most = number;
}

static void acked_raise(struct recorder *recorder, uint64_t frame)
{
	if (frame > atomic_load_explicit(&recorder->acked, memory_order_relaxed))
		atomic_store_explicit(&recorder->acked, frame, memory_order_release);
}

int recorder_acked(struct recorder *recorder, uint64_t frame)
{
	if (frame > recorder->sent)
		return -EPROTO;
	acked_raise(recorder, frame);
	return 0;
}

int recorder_resume(struct recorder *recorder, uint64_t hw)
{
	uint64_t acked;

	if (hw > recorder_published(recorder))
		return -EPROTO;
	acked_raise(recorder, hw);
	/*
	 * Cells up to `acked` may hold later frames by now. @hw is the last frame that the
	 * collector has committed: a lower one has lost what it had acknowledged.
	 */
	acked = atomic_load_explicit(&recorder->acked, memory_order_relaxed);
	recorder->sent = acked;
	return 0;
}

void recorder_bye(struct recorder *recorder)
{
	atomic_store_explicit(&recorder->header->bye, 1, memory_order_release);
}

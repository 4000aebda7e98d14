/* SPDX-License-Identifier: MIT */
#include "collectord/recorder/reader.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/limits.h"

static int read_at(int fd, void *ret, size_t bytes, uint64_t offset)
{
	uint8_t *at = ret;

	while (bytes) {
		ssize_t n = pread(fd, at, bytes, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EBADMSG;
		at += n;
		offset += (uint64_t)n;
		bytes -= (size_t)n;
	}
	return 0;
}

static bool region_is_valid(const struct recorder_region *region, uint64_t total, uint32_t count,
	uint32_t stride_min, uint32_t stride_max)
{
	uint64_t bytes = (uint64_t)region->count * region->stride;

	return region->count <= count && region->stride >= stride_min &&
	       region->stride <= stride_max && region->offset <= total &&
	       bytes <= total - region->offset;
}

static bool layout_is_valid(const struct recorder_header *h, uint64_t file_bytes)
{
	uint64_t total = h->total_bytes;

	if (h->magic != RECORDER_MAGIC || h->layout != RECORDER_LAYOUT ||
		h->header_bytes != sizeof(*h) || total > RECORDER_BYTES_MAX || total > file_bytes)
		return false;
	return region_is_valid(&h->slots, total, RECORDER_SLOTS, sizeof(struct recorder_slot),
		       sizeof(struct recorder_slot)) &&
	       h->cells.count > 0 && h->cells.stride % sizeof(uint64_t) == 0 &&
	       region_is_valid(&h->cells, total, RECORDER_CELLS, sizeof(struct recorder_cell),
		       RECORDER_CELL_BYTES) &&
	       region_is_valid(&h->queues, total, RECORDER_QUEUES, sizeof(struct recorder_queue),
		       sizeof(struct recorder_queue)) &&
	       region_is_valid(&h->anchors, total, RECORDER_GPUS, sizeof(struct recorder_anchors),
		       sizeof(struct recorder_anchors)) &&
	       region_is_valid(&h->defines, total, RECORDER_DEFINE_BYTES, 1, 1) &&
	       region_is_valid(&h->markers, total, RECORDER_MARKERS, sizeof(struct recorder_marker),
		       sizeof(struct recorder_marker)) &&
	       region_is_valid(&h->calls, total, RECORDER_CALLS, sizeof(struct recorder_call),
		       sizeof(struct recorder_call)) &&
	       region_is_valid(&h->spare_calls, total, RECORDER_CALLS_SPARE,
		       sizeof(struct recorder_call), sizeof(struct recorder_call)) &&
	       (!h->hello.count || region_is_valid(&h->hello, total, RECORDER_HELLO_BYTES, 1, 1));
}

static bool progress_is_valid(const struct recorder_header *h)
{
	return h->define_bytes <= h->defines.count && h->slots_used <= h->slots.count &&
	       h->queues_used <= h->queues.count && h->spare_calls_used <= h->spare_calls.count;
}

int recorder_reader_open(
	struct recorder_reader *reader, int fd, const uint8_t boot_id[16], const uint8_t token[16])
{
	struct recorder_header *h = &reader->header;
	struct stat st;
	int r;

	reader->fd = fd;
	if (fstat(fd, &st) < 0 || st.st_size < 0)
		return -EBADMSG;
	r = read_at(fd, h, sizeof(*h), 0);
	if (r < 0)
		return r;
	if (h->magic == 0 && !h->ready)
		return -ENODATA;
	if (!layout_is_valid(h, (uint64_t)st.st_size) || memcmp(h->boot_id, boot_id, 16) ||
		memcmp(h->token, token, 16))
		return -EBADMSG;
	if (!h->ready)
		return -ENODATA;
	return progress_is_valid(h) ? 0 : -EBADMSG;
}

int recorder_reader_refresh(struct recorder_reader *reader)
{
	struct recorder_header again;
	const size_t fixed = offsetof(struct recorder_header, ready);
	int r = read_at(reader->fd, &again, sizeof(again), 0);

	if (r < 0)
		return r;
	/* The part before `ready` never changes, so the checked copy of it is kept. */
	memcpy((uint8_t *)&reader->header + fixed, (uint8_t *)&again + fixed,
		sizeof(again) - fixed);
	return progress_is_valid(&reader->header) ? 0 : -EBADMSG;
}

int recorder_reader_get(const struct recorder_reader *reader, const struct recorder_region *region,
	uint64_t first, uint64_t count, void *ret)
{
	if (first > region->count || count > region->count - first)
		return -EBADMSG;
	return read_at(
		reader->fd, ret, count * region->stride, region->offset + first * region->stride);
}

#define CHUNK_BYTES 65536u

/* Returns where the last byte that is not zero ends. */
static size_t last_written(const uint8_t *bytes, size_t count)
{
	const size_t word = sizeof(uint64_t);
	uint64_t value;

	for (; count >= word; count -= word) {
		memcpy(&value, bytes + count - word, word);
		if (value)
			break;
	}
	while (count && !bytes[count - 1])
		count--;
	return count;
}

uint64_t recorder_reader_written(
	const struct recorder_reader *reader, const struct recorder_region *region, uint64_t count)
{
	uint64_t left = count * region->stride;
	uint8_t bytes[CHUNK_BYTES];

	while (left) {
		size_t part = left < sizeof(bytes) ? left : sizeof(bytes), written;

		if (read_at(reader->fd, bytes, part, region->offset + left - part) < 0)
			return count; /* the caller that reads them gets the error */
		written = last_written(bytes, part);
		left -= part - written;
		if (written)
			break;
	}
	return (left + region->stride - 1) / region->stride;
}

int recorder_reader_find_cell(const struct recorder_reader *reader, uint64_t after,
	struct recorder_cell *cell, uint64_t *ret_number)
{
	const struct recorder_region *cells = &reader->header.cells;
	uint64_t first = 0;

	for (uint32_t i = 0; i < cells->count; i++) {
		int r = recorder_reader_get(reader, cells, i, 1, cell);

		if (r < 0)
			return r;
		if (cell->number > after && cell->number % cells->count == i &&
			cell->number <= reader->header.published &&
			(!first || cell->number < first))
			first = cell->number;
	}
	*ret_number = first;
	return 0;
}

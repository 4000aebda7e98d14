// SPDX-License-Identifier: MIT
#include "tests/softgpu/softgpu.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NAMES_BYTES (8u << 20)
#define QUEUES	    4096u
#define COPIES	    262144u

/* Set by the first hsaKmtOpenKFD, before any processor runs, and never cleared. */
static struct softgpu_truth_header *header;
static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;

static size_t page_up(size_t n)
{
	return (n + SOFTGPU_PAGE - 1) & ~(size_t)(SOFTGPU_PAGE - 1);
}

/* SOFTGPU_TRUTH with every %p replaced by the process id: ranks share an environment. */
static int expand_path(const char *path, char *buf, size_t size)
{
	size_t at = 0;

	for (const char *p = path; *p; p++) {
		int n;

		if (p[0] == '%' && p[1] == 'p') {
			n = snprintf(buf + at, size - at, "%d", (int)getpid());
			p++;
		} else {
			n = snprintf(buf + at, size - at, "%c", *p);
		}
		if (n < 0 || at + (size_t)n >= size)
			return -ENAMETOOLONG;
		at += (size_t)n;
	}
	return 0;
}

static void fill_header(struct softgpu_truth_header *h, uint64_t records)
{
	h->version = SOFTGPU_TRUTH_VERSION;
	h->header_size = sizeof(*h);
	h->record_size = sizeof(struct softgpu_truth_record);
	h->queue_size = sizeof(struct softgpu_truth_queue);
	h->pid = (uint32_t)getpid();
	h->gpu_count = softgpu_config.count;
	h->capacity = records;
	h->queue_capacity = QUEUES;
	h->names_capacity = NAMES_BYTES;
	h->queues_offset = page_up(sizeof(*h));
	h->names_offset = page_up(h->queues_offset + QUEUES * sizeof(struct softgpu_truth_queue));
	h->records_offset = page_up(h->names_offset + NAMES_BYTES);
	h->copy_size = sizeof(struct softgpu_truth_copy);
	h->copy_capacity = COPIES;
	h->copies_offset =
		page_up(h->records_offset + records * sizeof(struct softgpu_truth_record));
	h->tick_ns = SOFTGPU_TICK_NS;
	h->created_ns = clock_wall_ns();
	for (uint32_t i = 0; i < softgpu_config.count; i++) {
		HsaNodeProperties props;

		topology_get_node(i + 1, &props);
		h->gpu[i].node = i + 1;
		h->gpu[i].tick_offset = clock_tick_offset(i + 1);
		h->gpu[i].unique_id = props.UniqueID;
	}
}

int truth_open(const char *path, uint64_t records)
{
	struct softgpu_truth_header h = {0};
	char name[4096];
	size_t map_bytes;
	void *map;
	int fd, err;

	if (!path || !*path)
		return 0;
	/* hsa_init after hsa_shut_down: the log goes on. It is mapped until the process ends. */
	if (header && header->pid == (uint32_t)getpid())
		return 0;
	err = expand_path(path, name, sizeof(name));
	if (err)
		return err;
	fill_header(&h, records);
	map_bytes = page_up(h.copies_offset + COPIES * sizeof(struct softgpu_truth_copy));
	fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)map_bytes)) { /* sparse: only what is used takes space */
		err = -errno;
		close(fd);
		return err;
	}
	map = mmap(NULL, map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	err = -errno;
	close(fd);
	if (map == MAP_FAILED)
		return err;
	header = map;
	memcpy(header, &h, sizeof(h));
	header->names_used = sizeof("?");
	memcpy((char *)map + h.names_offset, "?", sizeof("?"));
	__atomic_store_n(&header->magic, SOFTGPU_TRUTH_MAGIC, __ATOMIC_RELEASE);
	return 0;
}

/* Names are added once per kernel and GPU; the same text may be there twice. */
uint32_t truth_add_name(const char *name)
{
	size_t len = strlen(name) + 1;
	uint64_t at = 0;

	if (!header)
		return 0;
	pthread_mutex_lock(&names_lock);
	if (header->names_used + len <= header->names_capacity) {
		at = header->names_used;
		memcpy((char *)header + header->names_offset + at, name, len);
		__atomic_store_n(&header->names_used, at + len, __ATOMIC_RELEASE);
	} else {
		header->names_dropped++;
	}
	pthread_mutex_unlock(&names_lock);
	return (uint32_t)at;
}

struct softgpu_truth_queue *truth_add_queue(uint64_t id, uint32_t ordinal, uint32_t gpu)
{
	struct softgpu_truth_queue *q;
	uint64_t at;

	if (!header)
		return NULL;
	at = __atomic_fetch_add(&header->queues, 1, __ATOMIC_ACQ_REL);
	if (at >= header->queue_capacity)
		return NULL;
	q = (struct softgpu_truth_queue *)((char *)header + header->queues_offset) + at;
	q->ordinal = ordinal;
	q->gpu = gpu;
	__atomic_store_n(&q->queue_id, id, __ATOMIC_RELEASE);
	return q;
}

struct softgpu_truth_record *truth_reserve(void)
{
	uint64_t at;

	if (!header)
		return NULL;
	at = __atomic_fetch_add(&header->reserved, 1, __ATOMIC_ACQ_REL);
	if (at >= header->capacity) {
		__atomic_add_fetch(&header->dropped, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	return (struct softgpu_truth_record *)((char *)header + header->records_offset) + at;
}

void truth_publish(struct softgpu_truth_record *rec, enum softgpu_truth_state state)
{
	if (!rec)
		return;
	__atomic_store_n(&rec->state, state, __ATOMIC_RELEASE);
	if (state == SOFTGPU_TRUTH_DONE)
		__atomic_add_fetch(&header->done, 1, __ATOMIC_RELEASE);
}

void truth_add_copy(const struct softgpu_truth_copy *copy)
{
	struct softgpu_truth_copy *to;
	uint64_t at;

	if (!header)
		return;
	at = __atomic_fetch_add(&header->copies, 1, __ATOMIC_ACQ_REL);
	if (at >= header->copy_capacity)
		return;
	to = (struct softgpu_truth_copy *)((char *)header + header->copies_offset) + at;
	*to = *copy;
	to->state = SOFTGPU_TRUTH_EMPTY;
	__atomic_store_n(&to->state, SOFTGPU_TRUTH_DONE, __ATOMIC_RELEASE);
}

void truth_count(uint64_t *counter, uint64_t n)
{
	/* One writer: plain addition, but a reader in another process must not see halves. */
	__atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
}

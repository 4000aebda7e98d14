// SPDX-License-Identifier: MIT
/* softgpu-truth [--copies]: prints truth logs of the software GPU as CSV. */
#include "tests/softgpu/truth.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
	uint32_t flag;
	const char *word;
} words[] = {
	{SOFTGPU_TRUTH_LATE_TS, "late_ts"},
	{SOFTGPU_TRUTH_ZERO_TS, "zero_ts"},
	{SOFTGPU_TRUTH_SWAPPED_TS, "swapped_ts"},
	{SOFTGPU_TRUTH_VALUE_FIRST, "value_first"},
	{SOFTGPU_TRUTH_NEVER, "never"},
	{SOFTGPU_TRUTH_NO_SIGNAL, "no_signal"},
	{SOFTGPU_TRUTH_NO_PROFILE, "no_profile"},
	{SOFTGPU_TRUTH_EARLY, "early"},
	{SOFTGPU_TRUTH_EMULATED, "emulated"},
	{SOFTGPU_TRUTH_NAME_UNKNOWN, "name_unknown"},
	{SOFTGPU_TRUTH_SHORT, "short"},
};

static void print_flags(const struct softgpu_truth_record *r)
{
	printf("%s", r->state == SOFTGPU_TRUTH_DONE ? "done" : "running");
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (r->flags & words[i].flag)
			printf("|%s", words[i].word);
	}
}

static void print_name(const char *name)
{
	if (!strpbrk(name, ",\"\n")) {
		printf("%s", name);
		return;
	}
	putchar('"');
	for (; *name; name++)
		printf(*name == '"' ? "\"\"" : "%c", *name);
	putchar('"');
}

static int is_whole(const struct softgpu_truth_header *h, uint64_t bytes)
{
	return bytes >= sizeof(*h) && h->magic == SOFTGPU_TRUTH_MAGIC &&
	       h->version == SOFTGPU_TRUTH_VERSION &&
	       h->record_size == sizeof(struct softgpu_truth_record) && h->names_offset <= bytes &&
	       h->names_capacity <= bytes - h->names_offset && h->records_offset <= bytes &&
	       h->capacity <= (bytes - h->records_offset) / sizeof(struct softgpu_truth_record) &&
	       h->copy_size == sizeof(struct softgpu_truth_copy) && h->copies_offset <= bytes &&
	       h->copy_capacity <= (bytes - h->copies_offset) / sizeof(struct softgpu_truth_copy);
}

static void print_records(const struct softgpu_truth_header *h)
{
	const char *base = (const char *)h, *names = base + h->names_offset;
	const struct softgpu_truth_record *r = (const void *)(base + h->records_offset);
	uint64_t count = __atomic_load_n(&h->reserved, __ATOMIC_ACQUIRE);

	if (count > h->capacity)
		count = h->capacity;
	for (uint64_t i = 0; i < count; i++, r++) {
		if (__atomic_load_n(&r->state, __ATOMIC_ACQUIRE) == SOFTGPU_TRUTH_EMPTY)
			continue;
		printf("%u,%u,%u,%llu,%llu,", h->pid, r->gpu, r->node,
			(unsigned long long)r->hsa_queue_id, (unsigned long long)r->packet);
		print_name(r->name < h->names_capacity ? names + r->name : "?");
		printf(",%llu,%llu,", (unsigned long long)r->start_tick,
			(unsigned long long)r->end_tick);
		print_flags(r);
		putchar('\n');
	}
}

static void print_copies(const struct softgpu_truth_header *h)
{
	const struct softgpu_truth_copy *c = (const void *)((const char *)h + h->copies_offset);
	uint64_t count = __atomic_load_n(&h->copies, __ATOMIC_ACQUIRE);

	if (count > h->copy_capacity)
		count = h->copy_capacity;
	for (uint64_t i = 0; i < count; i++, c++) {
		if (__atomic_load_n(&c->state, __ATOMIC_ACQUIRE) == SOFTGPU_TRUTH_EMPTY)
			continue;
		printf("%u,%u,%u,%u,%llu,%llu,%llu\n", h->pid, c->gpu, c->node, c->packets,
			(unsigned long long)c->bytes, (unsigned long long)c->start_tick,
			(unsigned long long)c->end_tick);
	}
}

static int print_file(const char *path, int copies)
{
	const struct softgpu_truth_header *h;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *map;

	if (fd < 0 || fstat(fd, &st)) {
		perror(path);
		if (fd >= 0)
			close(fd);
		return 1;
	}
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	h = map;
	if (map == MAP_FAILED || !is_whole(h, (uint64_t)st.st_size)) {
		fprintf(stderr, "%s: not a truth log of this version\n", path);
		return 1;
	}
	if (copies)
		print_copies(h);
	else
		print_records(h);
	if (h->dropped)
		fprintf(stderr, "%s: %llu dispatches did not fit (SOFTGPU_TRUTH_RECORDS)\n", path,
			(unsigned long long)h->dropped);
	munmap(map, (size_t)st.st_size);
	return 0;
}

int main(int argc, char **argv)
{
	int copies = argc > 1 && !strcmp(argv[1], "--copies");
	int failed = 0;

	if (argc < 2 + copies) {
		fprintf(stderr, "usage: softgpu-truth [--copies] FILE...\n");
		return 2;
	}
	puts(copies ? "pid,gpu,node,packets,bytes,start_tick,end_tick"
		    : "pid,gpu,node,queue,packet,kernel,start_tick,end_tick,flags");
	for (int i = 1 + copies; i < argc; i++)
		failed |= print_file(argv[i], copies);
	return failed;
}

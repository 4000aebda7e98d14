// SPDX-License-Identifier: MIT
/*
 * libdtif.so as ROCr 7 uses it: opened by name, every function looked up, structures of ROCm 7. The
 * test takes the place of the runtime.
 */
#include "tests/softgpu/later_thunk.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/lib/test.h"

#define RING_BYTES    4096u
#define KMT(function) ((__typeof__(&function))find(#function))
#define KMT_OK(call)  assert_int_equal((call), HSAKMT_STATUS_SUCCESS)

static void *library;

static void *find(const char *name)
{
	void *function = dlsym(library, name);

	if (!function)
		fail_msg("%s", dlerror());
	return function;
}

static void open_with(const char *gfx, const char *kfd)
{
	setenv("SOFTGPU_GFX", gfx, 1);
	setenv("SOFTGPU_KFD", kfd, 1);
	library = dlopen(SOFTGPU_DTIF, RTLD_LAZY);
	assert_non_null(library);
	assert_non_null(KMT(DtifCreate)("HSA"));
	KMT_OK(KMT(hsaKmtOpenKFD)());
}

static int close_again(void **state)
{
	(void)state;
	KMT(hsaKmtCloseKFD)();
	KMT(DtifDestroy)();
	return dlclose(library);
}

static uint32_t word(const void *from, size_t offset)
{
	uint32_t v;

	memcpy(&v, (const char *)from + offset, sizeof(v));
	return v;
}

#define CASE(claim) TEST_CASE_BETWEEN(claim, NULL, close_again)

CASE(node_has_the_layout_of_rocm_7)
{
	struct later_node_properties p[2];
	uint64_t unique[2];

	open_with("gfx942", "11");
	memset(p, 0xee, sizeof(p));
	KMT_OK(KMT(hsaKmtGetNodeProperties)(1, (HsaNodeProperties *)&p[0]));
	assert_int_equal(p[0].neural_cores, 0);
	assert_int_equal(p[0].override_engine, 0);
	assert_int_equal(word(&p[0], 4), 304 * 4);			/* SIMDs */
	assert_int_equal(word(&p[0], 12), 4);				/* memory banks */
	assert_int_equal(word(&p[0], 76), 9 << 10 | 4 << 16 | 2 << 24); /* engine */
	assert_int_equal(word(&p[0], 84) & 0xffff, 0x1002);		/* vendor */
	assert_int_equal(word(&p[0], 368 - 12), 8);			/* XCCs */
	KMT_OK(KMT(hsaKmtGetNodeProperties)(2, (HsaNodeProperties *)&p[1]));
	memcpy(&unique[0], (char *)&p[0] + 340, sizeof(unique[0]));
	memcpy(&unique[1], (char *)&p[1] + 340, sizeof(unique[1]));
	assert_int_equal(unique[1], unique[0] + 1);
	assert_int_equal(KMT(hsaKmtGetNodeProperties)(3, (HsaNodeProperties *)&p[0]),
		HSAKMT_STATUS_INVALID_NODE_UNIT);
}

CASE(link_recommends_engines_of_its_gpu)
{
	struct later_link_properties l[3];
	HsaVersionInfo version;

	open_with("gfx942,gfx90a", "17");
	KMT_OK(KMT(hsaKmtGetVersion)(&version));
	assert_int_equal(version.KernelInterfaceMinorVersion, 17);
	memset(l, 0xee, sizeof(l));
	KMT_OK(KMT(hsaKmtGetNodeIoLinkProperties)(1, 2, (HsaIoLinkProperties *)l));
	assert_int_equal(word(&l[0], 16), 0); /* to the CPU */
	assert_int_equal(l[0].sdma_engines, 3);
	assert_int_equal(word(&l[1], 16), 2); /* to the other GPU: one engine and no other */
	assert_int_equal(l[1].sdma_engines & (l[1].sdma_engines - 1), 0);
	assert_true(l[1].sdma_engines >= 1u << SOFTGPU_SDMA_ENGINES);
	assert_int_equal(l[1].flags.LinkProperty, 0);
	assert_int_equal(word(&l[2], 0), 0xeeeeeeee); /* two were requested */
	KMT_OK(KMT(hsaKmtGetNodeIoLinkProperties)(2, 2, (HsaIoLinkProperties *)l));
	assert_int_equal(l[1].sdma_engines, 3 << SOFTGPU_SDMA_ENGINES);
}

static void *ring_memory(uint64_t align)
{
	HsaMemFlags flags = {.ui32 = {.HostAccess = 1}};
	void *p = NULL;

	KMT_OK(KMT(hsaKmtAllocMemoryAlign)(0, RING_BYTES, align, flags, &p));
	return p;
}

CASE(alignment_is_obeyed)
{
	void *p;

	open_with("gfx90a", "11");
	for (uint64_t align = 4096; align <= 64u << 20; align *= 16) {
		p = ring_memory(align);
		assert_int_equal((uintptr_t)p % align, 0);
		KMT_OK(KMT(hsaKmtFreeMemory)(p, RING_BYTES));
	}
	assert_int_equal(KMT(hsaKmtAllocMemoryAlign)(
				 0, RING_BYTES, 4096 * 3, (HsaMemFlags){{.Value = 0}}, &p),
		HSAKMT_STATUS_INVALID_PARAMETER);
}

CASE(ringing_by_id_starts_the_queue)
{
	amd_queue_t *amd = aligned_alloc(64, sizeof(*amd) + 64 - sizeof(*amd) % 64);
	amd_signal_t done = {.value = 1};
	uint8_t *ring;
	HsaQueueResource res = {.QueueId = 0};
	HSA_QUEUEID first = 0;

	assert_non_null(amd);
	open_with("gfx90a", "11");
	for (int i = 0; i < 2; i++) {
		uint32_t dispatch = HSA_PACKET_TYPE_KERNEL_DISPATCH,
			 invalid = HSA_PACKET_TYPE_INVALID;
		uint64_t signal = (uintptr_t)&done;

		ring = ring_memory(4096);
		for (size_t at = 0; at < RING_BYTES; at += 64)
			memcpy(ring + at, &invalid, sizeof(invalid));
		memset(amd, 0, sizeof(*amd));
		res.Queue_read_ptr_aql = (HSAuint64 *)(uintptr_t)&amd->read_dispatch_id;
		res.Queue_write_ptr_aql = (HSAuint64 *)(uintptr_t)&amd->write_dispatch_id;
		KMT_OK(KMT(hsaKmtCreateQueueExt)(1, HSA_QUEUE_COMPUTE_AQL, 100,
			HSA_QUEUE_PRIORITY_NORMAL, 0, ring, RING_BYTES, NULL, &res));
		__atomic_store_n(&done.value, 1, __ATOMIC_RELEASE);
		memcpy(ring + 56, &signal, sizeof(signal));
		__atomic_store_n((uint32_t *)ring, dispatch, __ATOMIC_RELEASE);
		__atomic_store_n(&amd->write_dispatch_id, 1, __ATOMIC_RELEASE);
		KMT_OK(KMT(hsaKmtQueueRingDoorbell)(res.QueueId));
		while (__atomic_load_n(&done.value, __ATOMIC_ACQUIRE) != 0)
			sched_yield();
		/* A later queue in the same slot is another queue. */
		if (i)
			assert_int_equal(
				KMT(hsaKmtQueueRingDoorbell)(first), HSAKMT_STATUS_INVALID_HANDLE);
		first = res.QueueId;
		KMT_OK(KMT(hsaKmtDestroyQueue)(res.QueueId));
		assert_int_equal(
			KMT(hsaKmtQueueRingDoorbell)(res.QueueId), HSAKMT_STATUS_INVALID_HANDLE);
	}
	free(amd);
}

/* The packets with which ROCr copies 16 bytes and completes a signal, on an engine by number. */
static void copy_on_engine(uint32_t engine, const uint8_t *from, uint8_t *to)
{
	uint32_t *ring = ring_memory(4096);
	HsaQueueResource res = {.QueueId = 0};
	amd_signal_t done = {.value = 1};
	uint64_t value = (uintptr_t)&done.value;
	const uint32_t packets[15] = {1, 15, 0, (uint32_t)(uintptr_t)from,
		(uint32_t)((uintptr_t)from >> 32), (uint32_t)(uintptr_t)to,
		(uint32_t)((uintptr_t)to >> 32), 10 | 47u << 25, (uint32_t)value,
		(uint32_t)(value >> 32), UINT32_MAX, UINT32_MAX, 0, 0, 0};

	KMT_OK(KMT(hsaKmtCreateQueueExt)(1, (HSA_QUEUE_TYPE)LATER_QUEUE_SDMA_BY_ENGINE, 100,
		HSA_QUEUE_PRIORITY_NORMAL, engine, ring, RING_BYTES, NULL, &res));
	memcpy(ring, packets, sizeof(packets));
	__atomic_store_n(res.Queue_write_ptr_aql, sizeof(packets), __ATOMIC_RELEASE);
	while (__atomic_load_n(&done.value, __ATOMIC_ACQUIRE) != 0)
		sched_yield();
	KMT_OK(KMT(hsaKmtDestroyQueue)(res.QueueId));
}

CASE(sdma_queue_is_on_the_engine_that_was_named)
{
	char path[] = "/tmp/softgpu.dtif.XXXXXX";
	int fd = mkstemp(path);
	const struct softgpu_truth_header *truth;
	const struct softgpu_truth_copy *copy;
	uint8_t from[16] = "on engine N....", to[16];
	HsaQueueResource res;
	uint32_t *ring;

	assert_true(fd >= 0);
	setenv("SOFTGPU_TRUTH", path, 1);
	open_with("gfx942", "17");
	unsetenv("SOFTGPU_TRUTH");
	for (uint32_t engine = 0; engine < 16; engine += 5) {
		memset(to, 0, sizeof(to));
		copy_on_engine(engine, from, to);
		assert_memory_equal(to, from, sizeof(to));
	}
	truth = mmap(NULL, sizeof(*truth), PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(truth, MAP_FAILED);
	copy = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, (off_t)truth->copies_offset);
	assert_ptr_not_equal(copy, MAP_FAILED);
	assert_int_equal(truth->copies, 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(copy[i].engine, i * 5);
		assert_int_equal(copy[i].bytes, 16);
	}
	ring = ring_memory(4096);
	assert_int_equal(KMT(hsaKmtCreateQueueExt)(1, (HSA_QUEUE_TYPE)LATER_QUEUE_SDMA_BY_ENGINE,
				 100, HSA_QUEUE_PRIORITY_NORMAL, 16, ring, RING_BYTES, NULL, &res),
		HSAKMT_STATUS_INVALID_PARAMETER);
	munmap((void *)truth, sizeof(*truth));
	munmap((void *)copy, 4096);
	close(fd);
	unlink(path);
}

/* Checks what was written to stderr while @run ran, at most one line. */
static void expect_line(void (*run)(void), const char *want)
{
	char have[1024] = "";
	int keep = dup(STDERR_FILENO), fd = memfd_create("stderr", MFD_CLOEXEC);

	assert_true(keep >= 0 && fd >= 0);
	dup2(fd, STDERR_FILENO);
	run();
	dup2(keep, STDERR_FILENO);
	assert_true(pread(fd, have, sizeof(have) - 1, 0) >= 0);
	close(keep);
	close(fd);
	assert_string_equal(have, want);
}

static void ask_for_what_is_not_there(void)
{
	void *later = dlopen(SOFTGPU_LATER_RUNTIME, RTLD_NOW);
	void *(*start)(void *(*create)(const char *)) = later ? dlsym(later, "start") : NULL;

	assert_non_null(start);
	assert_null(start(KMT(DtifCreate)));
}

CASE(function_that_is_lacking_is_named)
{
	open_with("gfx90a", "11");
	expect_line(ask_for_what_is_not_there,
		"softgpu: " SOFTGPU_LATER_RUNTIME " asks for functions that the software GPU lacks:"
		" hsaKmtOfALaterRelease hsaKmtOfOneLaterStill\n");
}

/* A runtime queries the memory of the GPUs that it knows, then creates its events. */
static void know_the_first_of_two(void)
{
	HsaEventDescriptor d = {.EventType = HSA_EVENTTYPE_SIGNAL};
	HsaMemoryProperties bank;
	HsaSystemProperties all;
	HsaEvent *e;

	KMT_OK(KMT(hsaKmtAcquireSystemProperties)(&all));
	KMT_OK(KMT(hsaKmtGetNodeMemoryProperties)(0, 1, &bank));
	KMT_OK(KMT(hsaKmtGetNodeMemoryProperties)(1, 1, &bank));
	for (int i = 0; i < 2; i++) {
		KMT_OK(KMT(hsaKmtCreateEvent)(&d, false, false, &e));
		KMT_OK(KMT(hsaKmtDestroyEvent)(e));
	}
}

CASE(gpu_that_the_runtime_left_out_is_named)
{
	open_with("gfx90a,gfx1201", "11");
	expect_line(know_the_first_of_two,
		"softgpu: SOFTGPU_GFX: this runtime does not know gfx1201,"
		" and left those GPUs out\n");
}

int main(void)
{
	setenv("SOFTGPU_COUNT", "2", 1);
	return test_run(NULL, NULL);
}

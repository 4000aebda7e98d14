// SPDX-License-Identifier: MIT
/*
 * rtl-names: loads and unloads code objects on the real runtime.
 *
 *   rtl-names each FILE                every kernel of FILE once on every GPU, all in one
 * executable rtl-names cycles FILE N            N times: load FILE under another name, dispatch,
 * unload; every other time while its last kernel still runs rtl-names threads FILE THREADS N   as
 * many threads at once, each with its own queue, and one that dispatches the same kernel all the
 * time
 *
 *   rtl-names then FILE COMMAND...     like each; then this process becomes COMMAND, with the
 * runtime
 *
 * The name is changed in place: PLACEHOLDER in FILE becomes tTT_NNNNNNNNNNNN of the same length.
 * Prints "dispatched N" and "addresses N", the number of kernel objects that were used.
 */
#include "tests/softgpu/test_gpu.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLACEHOLDER	  "cycle_0000000000"
#define PLACEHOLDER_BYTES (sizeof(PLACEHOLDER) - 1)
#define QUEUE_PACKETS	  256
#define PER_CYCLE	  3
#define KERNELS_MAX	  64
#define ADDRESSES_MAX	  4096
#define THREADS_MAX	  16

struct blob {
	char *bytes;
	size_t count;
};

struct loaded {
	hsa_executable_t executable;
	hsa_code_object_reader_t reader;
	struct blob code; /* must stay valid for the reader */
	uint64_t kernel[KERNELS_MAX];
	unsigned kernels;
};

static struct gpu gpu;
static struct blob file;
static unsigned cycles;
static _Atomic unsigned dispatched;

static pthread_mutex_t addresses_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t addresses[ADDRESSES_MAX];
static unsigned address_count;

static void address_note(uint64_t object)
{
	pthread_mutex_lock(&addresses_lock);
	for (unsigned i = 0; i <= address_count && i < ADDRESSES_MAX; i++) {
		if (i == address_count)
			addresses[address_count++] = object;
		if (addresses[i] == object)
			break;
	}
	pthread_mutex_unlock(&addresses_lock);
}

static struct blob blob_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct blob blob;
	struct stat st;

	assert_true(fd >= 0 && !fstat(fd, &st));
	blob.count = (size_t)st.st_size;
	blob.bytes = malloc(blob.count);
	assert_true(blob.bytes && read(fd, blob.bytes, blob.count) == (ssize_t)blob.count);
	close(fd);
	return blob;
}

/* A copy of the file in which the placeholder is replaced by @name of the same length. */
static struct blob blob_named(const char *name)
{
	struct blob copy = {malloc(file.count), file.count};
	char *at;

	assert_non_null(copy.bytes);
	memcpy(copy.bytes, file.bytes, file.count);
	for (at = copy.bytes; (at = memmem(at, copy.count - (size_t)(at - copy.bytes), PLACEHOLDER,
				       PLACEHOLDER_BYTES));)
		memcpy(at, name, PLACEHOLDER_BYTES);
	return copy;
}

static hsa_status_t kernel_add(
	hsa_executable_t executable, hsa_agent_t agent, hsa_executable_symbol_t symbol, void *arg)
{
	struct loaded *code = arg;
	hsa_symbol_kind_t kind;

	(void)executable;
	(void)agent;
	HSA_OK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &kind));
	if (kind != HSA_SYMBOL_KIND_KERNEL)
		return HSA_STATUS_SUCCESS;
	assert_true(code->kernels < KERNELS_MAX);
	HSA_OK(hsa_executable_symbol_get_info(
		symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &code->kernel[code->kernels]));
	address_note(code->kernel[code->kernels++]);
	return HSA_STATUS_SUCCESS;
}

/* Takes ownership of @blob. The kernels of agent i are those at position i in code->kernel. */
static void code_open(
	struct loaded *code, struct blob blob, const hsa_agent_t *agent, unsigned agents)
{
	*code = (struct loaded){.code = blob};
	HSA_OK(hsa_code_object_reader_create_from_memory(blob.bytes, blob.count, &code->reader));
	HSA_OK(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
		NULL, &code->executable));
	for (unsigned i = 0; i < agents; i++)
		HSA_OK(hsa_executable_load_agent_code_object(
			code->executable, agent[i], code->reader, NULL, NULL));
	HSA_OK(hsa_executable_freeze(code->executable, NULL));
	for (unsigned i = 0; i < agents; i++)
		HSA_OK(hsa_executable_iterate_agent_symbols(
			code->executable, agent[i], kernel_add, code));
	assert_true(code->kernels > 0);
}

static void code_close(struct loaded *code)
{
	HSA_OK(hsa_executable_destroy(code->executable));
	HSA_OK(hsa_code_object_reader_destroy(code->reader));
	free(code->code.bytes);
}

/* Waits until the device has started packet @index, which may still run. */
static void wait_launched(hsa_queue_t *queue, uint64_t index)
{
	uint64_t deadline = test_now_ms() + TEST_DEADLINE_MS;

	while (hsa_queue_load_read_index_scacquire(queue) <= index) {
		assert_true(test_now_ms() < deadline);
		sched_yield();
	}
}

static void each(void)
{
	struct loaded code;

	code_open(&code, file, gpu.agent, gpu.count);
	for (unsigned i = 0; i < gpu.count; i++) {
		hsa_queue_t *queue = queue_new(gpu.agent[i], QUEUE_PACKETS);
		unsigned per_gpu = code.kernels / gpu.count;
		hsa_signal_t signal = signal_new(1);

		for (unsigned k = 0; k < per_gpu; k++, dispatched++)
			run_one(queue, code.kernel[i * per_gpu + k], signal);
		HSA_OK(hsa_signal_destroy(signal));
		HSA_OK(hsa_queue_destroy(queue));
	}
	code_close(&code);
}

/* Resources of a thread, made before any thread runs, so that queues are numbered in order. */
struct worker {
	unsigned number;
	hsa_agent_t agent;
	hsa_queue_t *queue;
};

static struct worker worker_new(unsigned number)
{
	hsa_agent_t agent = gpu.agent[number % gpu.count];

	return (struct worker){number, agent, queue_new(agent, QUEUE_PACKETS)};
}

static void come_and_go(const struct worker *worker)
{
	hsa_queue_t *queue = worker->queue;
	hsa_signal_t done = signal_new(1);

	for (unsigned cycle = 0; cycle < cycles; cycle++) {
		char name[PLACEHOLDER_BYTES + 1];
		struct loaded code;
		uint64_t last = 0;

		snprintf(name, sizeof(name), "t%02u_%012u", worker->number % 100, cycle);
		code_open(&code, blob_named(name), &worker->agent, 1);
		for (unsigned i = 0; i < PER_CYCLE; i++, dispatched++)
			last = queue_put(queue, packet_dispatch(code.kernel[0], (hsa_signal_t){0}));
		if (cycle % 2) {
			hsa_signal_store_relaxed(done, 1);
			queue_put(
				queue, packet_barrier(HSA_PACKET_TYPE_BARRIER_AND, NULL, 0, done));
			signal_wait_done(done);
		} else {
			wait_launched(queue, last);
		}
		code_close(&code);
	}
	hsa_signal_store_relaxed(done, 1);
	queue_put(queue, packet_barrier(HSA_PACKET_TYPE_BARRIER_AND, NULL, 0, done));
	signal_wait_done(done);
	HSA_OK(hsa_signal_destroy(done));
	HSA_OK(hsa_queue_destroy(queue));
}

static void *come_and_go_main(void *arg)
{
	come_and_go(arg);
	return NULL;
}

static _Atomic bool steady_stop;

static void *steady_main(void *arg)
{
	const struct worker *worker = arg;
	hsa_signal_t signal = signal_new(1);
	struct loaded code;

	code_open(&code, blob_named("steady__________"), &worker->agent, 1);
	for (; !steady_stop; dispatched++)
		run_one(worker->queue, code.kernel[0], signal);
	code_close(&code);
	HSA_OK(hsa_signal_destroy(signal));
	HSA_OK(hsa_queue_destroy(worker->queue));
	return NULL;
}

static void threads(unsigned count)
{
	struct worker worker[THREADS_MAX], steady_worker = worker_new(0);
	pthread_t thread[THREADS_MAX], steady;

	assert_true(count > 0 && count <= THREADS_MAX);
	for (unsigned i = 0; i < count; i++)
		worker[i] = worker_new(i);
	assert_int_equal(pthread_create(&steady, NULL, steady_main, &steady_worker), 0);
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, come_and_go_main, &worker[i]), 0);
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	steady_stop = true;
	assert_int_equal(pthread_join(steady, NULL), 0);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";
	unsigned count = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;

	if (argc > 2)
		file = blob_read(argv[2]);
	gpu_open(&gpu);
	if (!strcmp(mode, "each") && argc == 3) {
		each();
	} else if (!strcmp(mode, "cycles") && argc == 4) {
		struct worker worker = worker_new(0);

		cycles = count;
		come_and_go(&worker);
		free(file.bytes);
	} else if (!strcmp(mode, "threads") && argc == 5) {
		cycles = (unsigned)strtoul(argv[4], NULL, 10);
		threads(count);
		free(file.bytes);
	} else if (!strcmp(mode, "then") && argc > 3) {
		each();
		execvp(argv[3], argv + 3);
		return 1;
	} else {
		fprintf(stderr, "usage: rtl-names each FILE | cycles FILE N | threads FILE T N | "
				"then FILE COMMAND...\n");
		return 2;
	}
	gpu_close();
	printf("dispatched %u\naddresses %u\n", dispatched, address_count);
	return 0;
}

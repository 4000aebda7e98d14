/* SPDX-License-Identifier: MIT
 *
 * shim-life MODE: small programs on the real runtime whose lives are hard on a profiler. Each
 * prints "dispatched N" at its end; 1 when something it checks itself does not hold.
 */
#include "tests/softgpu/test_gpu.h"

#include "proto/recorder/layout.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define QUEUE_PACKETS 1024

static struct gpu gpu;
static struct code code;
static unsigned dispatched;

static void require(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "shim-life: %s\n", what);
	exit(1);
}

static void run(hsa_queue_t *queue, unsigned kernels)
{
	hsa_signal_t signal = signal_new(1);

	for (unsigned i = 0; i < kernels; i++) {
		run_one(queue, code.kernel[i % 4], signal);
		dispatched++;
	}
	HSA_OK(hsa_signal_destroy(signal));
}

/* The runtime, code and a queue that has run @kernels; finish() ends all three. */
static hsa_queue_t *begin(unsigned kernels)
{
	hsa_queue_t *queue;

	gpu_open(&gpu);
	code_load(gpu.agent[0], &code);
	queue = queue_new(gpu.agent[0], QUEUE_PACKETS);
	if (kernels > 0)
		run(queue, kernels);
	return queue;
}

static void finish(hsa_queue_t *queue)
{
	HSA_OK(hsa_queue_destroy(queue));
	code_unload(&code);
	gpu_close();
}

static void once(unsigned queues, unsigned kernels)
{
	gpu_open(&gpu);
	code_load(gpu.agent[0], &code);
	for (unsigned i = 0; i < queues; i++) {
		hsa_queue_t *queue = queue_new(gpu.agent[0], QUEUE_PACKETS);

		run(queue, kernels);
		HSA_OK(hsa_queue_destroy(queue));
	}
	code_unload(&code);
	gpu_close();
}

/* Starts the runtime, shuts it down, and starts it again. */
static void again(void)
{
	for (int i = 0; i < 3; i++)
		once(1, 10);
}

/* Creates more queues than a process may have at once, one after the other. */
static void queues(void)
{
	once(1500, 2);
}

/* Loads and unloads code; the same addresses are used for other kernels. */
static void reload(void)
{
	hsa_queue_t *queue;

	gpu_open(&gpu);
	queue = queue_new(gpu.agent[0], QUEUE_PACKETS);
	for (int i = 0; i < 20; i++) {
		code_load(gpu.agent[0], &code);
		run(queue, 4);
		code_unload(&code);
	}
	HSA_OK(hsa_queue_destroy(queue));
	gpu_close();
}

/*
 * Returns the recorder's descriptor in this process, -1 if there is none; *ret_count is the number
 * of them.
 */
static int memfd_find(int *ret_count)
{
	DIR *listing = opendir("/proc/self/fd");
	struct dirent *entry;
	char path[300], target[256];
	int count = 0, found = -1;

	while (listing && (entry = readdir(listing))) {
		ssize_t bytes;

		snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
		bytes = readlink(path, target, sizeof(target) - 1);
		target[bytes > 0 ? bytes : 0] = '\0';
		if (!strstr(target, "/memfd:rtl"))
			continue;
		count++;
		found = atoi(entry->d_name);
	}
	if (listing)
		closedir(listing);
	*ret_count = count;
	return found;
}

static int memfds_count(void)
{
	int count;

	memfd_find(&count);
	return count;
}

/* Whether the shim has recorded as many dispatches as were made. */
static bool all_is_recorded(void *arg)
{
	struct recorder_header header;
	struct recorder_queue queue;
	uint64_t recorded = 0;
	int count, fd = memfd_find(&count);

	(void)arg;
	require(fd >= 0 && pread(fd, &header, sizeof(header), 0) == sizeof(header), "no recorder");
	for (uint64_t i = 0; i < atomic_load(&header.queues_used); i++) {
		off_t offset = (off_t)(header.queues.offset + i * header.queues.stride);

		require(pread(fd, &queue, sizeof(queue), offset) == sizeof(queue), "no queue");
		recorded += atomic_load(&queue.harvester[RTL_Q_recorded - RTL_Q_HARVESTER_FIRST]);
	}
	return recorded >= dispatched;
}

static void forks(void)
{
	hsa_queue_t *queue;
	int status;
	pid_t pid;

	queue = begin(10);
	require(memfds_count() == 1, "no recorder here: nothing is tested");
	for (int i = 0; i < 5; i++) {
		pid = fork();
		if (!pid) {
			/* Calls go to the originals, and inherited descriptors are closed. */
			(void)hsa_queue_load_write_index_relaxed(queue);
			_exit(memfds_count());
		}
		require(waitpid(pid, &status, 0) == pid && status == 0,
			"a child kept the recorder or died");
		run(queue, 10);
	}
	finish(queue);
}

#define FILES 16

/* Ends this process, with status 0 if all of @fd are open. */
static void files_check(const int *fd)
{
	for (int i = 0; i < FILES; i++)
		if (fcntl(fd[i], F_GETFD) < 0)
			_exit(1);
	_exit(0);
}

/* Files that a child opens get the numbers that the shim has closed; they are not the shim's. */
static void child_of_child(void)
{
	int fd[FILES], status = -1;
	pid_t pid;

	for (int i = 0; i < FILES; i++)
		fd[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	pid = fork();
	if (!pid)
		files_check(fd);
	if (waitpid(pid, &status, 0) != pid || status)
		_exit(1);
	_exit(0);
}

static void grandchildren(void)
{
	hsa_queue_t *queue;
	int status;
	pid_t pid;

	queue = begin(10);
	pid = fork();
	if (!pid)
		child_of_child();
	require(waitpid(pid, &status, 0) == pid && status == 0, "a grandchild lost a file");
	finish(queue);
}

/* Forks after the runtime was shut down; the child starts its own. */
static void child_again(void)
{
	int fd[FILES], status = -1;
	pid_t pid;

	once(1, 10);
	pid = fork();
	if (!pid) {
		for (int i = 0; i < FILES; i++)
			fd[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		once(1, 10);
		files_check(fd);
	}
	require(waitpid(pid, &status, 0) == pid && status == 0, "a child lost a file or died");
	dispatched += 10;
}

/* A child that shuts the runtime down must not shut down anything of the shim. */
static void child_ends(void)
{
	hsa_queue_t *queue;
	int status = -1;
	pid_t pid;

	queue = begin(10);
	pid = fork();
	if (!pid) {
		void (*unload)(void);
		void *symbol =
			dlsym(dlopen(getenv("HSA_TOOLS_LIB"), RTLD_NOW | RTLD_NOLOAD), "OnUnload");

		memcpy(&unload, &symbol, sizeof(unload));
		if (!unload)
			_exit(1);
		unload();
		_exit(0);
	}
	require(waitpid(pid, &status, 0) == pid && status == 0, "a child died of its end");
	finish(queue);
}

/* A program that closes every descriptor it finds, and then opens its own files. */
static void closes_all(void)
{
	FILE *file[FILES];
	hsa_queue_t *queue;

	queue = begin(10);
	for (int fd = 3; fd < 256; fd++)
		close(fd);
	for (int i = 0; i < FILES; i++)
		require((file[i] = tmpfile()) != NULL, "no file");
	run(queue, 10);
	finish(queue);
	for (int i = 0; i < FILES; i++)
		require(!fseek(file[i], 0, SEEK_END) && !ftell(file[i]), "a file was written to");
}

/*
 * A second runtime in the same process, from a package that contains its own, also loads the shim.
 */
static void second_runtime(void)
{
	struct {
		uint32_t major, bytes, step, reserved;
		void *member[199];
	} table = {.major = 1, .bytes = sizeof(table)};
	struct {
		uint32_t major, bytes, step, reserved;
		void *core, *ext;
	} root = {1, sizeof(root), 0, 0, &table, &table};
	bool (*load)(void *, uint64_t, uint64_t, const char *const *);
	void *symbol = dlsym(dlopen(getenv("HSA_TOOLS_LIB"), RTLD_NOW), "OnLoad");
	hsa_queue_t *queue;

	memcpy(&load, &symbol, sizeof(load));
	require(load != NULL, "no shim");
	for (size_t i = 0; i < sizeof(table.member) / sizeof(table.member[0]); i++)
		table.member[i] = dlsym(RTLD_DEFAULT, "hsa_system_get_info");
	queue = begin(10);
	require(load(&root, 1, 0, NULL), "OnLoad says no");
	require(memfds_count() == 1, "two recorders");
	run(queue, 10);
	finish(queue);
}

/* With a file size limit below the recorder's size there is no signal and no record. */
static void small_files(void)
{
	const struct rlimit limit = {16u << 20, 16u << 20};

	require(!setrlimit(RLIMIT_FSIZE, &limit), "no limit");
	once(1, 10);
	dispatched = 0;
}

/* A program that was started with its standard files closed can still use those numbers. */
static void closed(void)
{
	char path[64], target[256];
	hsa_queue_t *queue;
	FILE *out = fdopen(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3), "w");

	for (int fd = 0; fd < 3; fd++)
		close(fd);
	queue = begin(10);
	for (int fd = 0; fd < 3; fd++) {
		ssize_t bytes;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		bytes = readlink(path, target, sizeof(target) - 1);
		target[bytes > 0 ? bytes : 0] = '\0';
		if (strstr(target, "memfd:rtl") || strstr(target, "eventfd") ||
			strstr(target, "socket:"))
			_exit(1);
	}
	finish(queue);
	fprintf(out, "dispatched %u\n", dispatched);
	fclose(out);
	_exit(0);
}

/* Shuts the runtime down while a kernel that never ends is running (SOFTGPU_FAULT: beta). */
static void never(void)
{
	hsa_queue_t *queue;

	queue = begin(1);
	require(wait_for(all_is_recorded, NULL), "the first one is not recorded");
	(void)queue_put(queue, packet_dispatch(code.kernel[1], (hsa_signal_t){0}));
	dispatched++;
	gpu_close();
}

/* "SigBlk:" of the thread called @name; 0 if there is no such thread. */
static unsigned long long thread_mask(const char *name)
{
	DIR *listing = opendir("/proc/self/task");
	unsigned long long mask = 0;
	struct dirent *entry;

	while (listing && (entry = readdir(listing))) {
		char path[300], line[256], comm[64] = "";
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/status", entry->d_name);
		file = fopen(path, "r");
		while (file && fgets(line, sizeof(line), file)) {
			sscanf(line, "Name: %63s", comm);
			if (!strcmp(comm, name))
				sscanf(line, "SigBlk: %llx", &mask);
		}
		if (file)
			fclose(file);
	}
	if (listing)
		closedir(listing);
	return mask;
}

static bool thread_is_named(void *arg)
{
	return thread_mask(arg) != 0;
}

static void thread(void)
{
	const unsigned long long wanted = 1ull << 14 | 1ull << 1 | 1ull << 26; /* TERM INT PROF */

	gpu_open(&gpu);
	require(wait_for(thread_is_named, (void *)(uintptr_t) "rtl-shim"), "no thread rtl-shim");
	require((thread_mask("rtl-shim") & wanted) == wanted, "rtl-shim takes signals");
	gpu_close();
}

static void ranges(void)
{
	int (*push)(const char *);
	int (*pop)(void);
	hsa_queue_t *queue;
	void *symbol;

	symbol = dlsym(RTLD_DEFAULT, "roctxRangePushA");
	memcpy(&push, &symbol, sizeof(push));
	symbol = dlsym(RTLD_DEFAULT, "roctxRangePop");
	memcpy(&pop, &symbol, sizeof(pop));
	require(push && pop, "no library defines roctx");
	require(push("before the runtime") == 0, "the first level is 0");
	queue = begin(0);
	require(push("inner") == 1, "the second level is 1");
	run(queue, 3);
	require(pop() == 1, "level 1 ends");
	run(queue, 2);
	require(pop() == 0 && pop() < 0, "level 0 ends, and there is no more");
	run(queue, 1);
	finish(queue);
}

static const struct {
	const char *name;
	void (*function)(void);
} modes[] = {
	{"again", again},
	{"queues", queues},
	{"reload", reload},
	{"fork", forks},
	{"grandchildren", grandchildren},
	{"child_again", child_again},
	{"child_ends", child_ends},
	{"closes_all", closes_all},
	{"second_runtime", second_runtime},
	{"small_files", small_files},
	{"closed", closed},
	{"thread", thread},
	{"never", never},
	{"ranges", ranges},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(argv[1], modes[i].name))
			continue;
		modes[i].function();
		printf("dispatched %u\n", dispatched);
		return 0;
	}
	fprintf(stderr, "usage: shim-life MODE\n");
	return 2;
}

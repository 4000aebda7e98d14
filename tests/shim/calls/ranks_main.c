// SPDX-License-Identifier: MIT
/*
 * ranks-calls GPU RANKS [NAME=VALUE | comm=RANK/SIZE/ID_FILE]...: a process that sets its rank
 * late. HIP is already initialised when the variables are set and the communicator is made, in the
 * given order. Then it launches three kernels on GPU, and ends when RANKS processes in its folder
 * have done so.
 */
#define __HIP_PLATFORM_AMD__ 1
#include <dirent.h>
#include <fcntl.h>
#include <hip/hip_runtime_api.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shim/wrap/rccl.h"
#include "tests/lib/check.h"

#define KERNELS 3

static void make_communicator(const char *text)
{
	static void *comm;
	nccl_unique_id id;
	char path[256];
	int rank, size;
	FILE *file;

	if (sscanf(text, "%d/%d/%255s", &rank, &size, path) != 3 || !(file = fopen(path, "r")))
		check(2, text);
	if (fread(&id, sizeof(id), 1, file) != 1)
		check(2, path);
	fclose(file);
	check(ncclCommInitRank(&comm, size, id, rank), "ncclCommInitRank");
}

static const char *ranks;

static void start_helper(char *gpu)
{
	char *argv[] = {(char[]){"ranks-calls"}, gpu, strdup(ranks), NULL};
	pid_t pid;

	check(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ), "posix_spawn");
}

static void say(char *text)
{
	char *equals = strchr(text, '=');

	if (!equals)
		check(2, text);
	*equals = '\0';
	if (!strcmp(text, "comm"))
		make_communicator(equals + 1);
	else if (!strcmp(text, "helper"))
		start_helper(equals + 1);
	else
		check(setenv(text, equals + 1, 1), "setenv");
}

static void launch(void)
{
	void *nothing = NULL;
	void *params[] = {&nothing};
	hipModule_t module;
	hipFunction_t kernel;

	check((int)hipModuleLoad(&module, CALLS_CODE), "hipModuleLoad");
	check((int)hipModuleGetFunction(&kernel, module, "ncclDevKernel_Generic_1"),
		"hipModuleGetFunction");
	for (int i = 0; i < KERNELS; i++)
		check((int)hipModuleLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL),
			"hipModuleLaunchKernel");
	check((int)hipDeviceSynchronize(), "hipDeviceSynchronize");
}

static int count_ready(void)
{
	DIR *folder = opendir(".");
	struct dirent *entry;
	int count = 0;

	if (!folder)
		return 0;
	while ((entry = readdir(folder)))
		count += !strncmp(entry->d_name, "ready.", 6);
	closedir(folder);
	return count;
}

static void wait_for_others(void)
{
	char name[32];

	snprintf(name, sizeof(name), "ready.%d", (int)getpid());
	close(open(name, O_WRONLY | O_CREAT, 0600));
	while (count_ready() < atoi(ranks))
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

int main(int argc, char **argv)
{
	int gpu, count;

	if (argc < 3)
		return 2;
	gpu = atoi(argv[1]);
	ranks = argv[2];
	check((int)hipGetDeviceCount(&count), "hipGetDeviceCount");
	for (int i = 3; i < argc; i++)
		say(argv[i]);
	check((int)hipSetDevice(gpu), "hipSetDevice");
	launch();
	printf("dispatched gpu=%d kernels=%d\n", gpu, KERNELS);
	wait_for_others();
	return 0;
}

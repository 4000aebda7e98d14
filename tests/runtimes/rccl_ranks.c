/* SPDX-License-Identifier: MIT
 *
 * runtimes-rccl HIP RCCL RANKS ROUNDS [graph]: RANKS processes over the real RCCL, each on a GPU of
 * its own. Each does ROUNDS all-reduces and all-gathers; with `graph` first ROUNDS replays of a
 * graph of four captured all-reduces. HIP and RCCL are the names of the libraries. Prints what each
 * rank did, in their order. With `launched` in the place of RANKS it is one rank, as its launcher's
 * variables say; the ranks meet by a file in the current folder.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/check.h"

#define RANKS_MAX 16
#define COUNT	  ((size_t)1 << 18)
#define FLOAT32	  7
#define SUM	  0

struct unique_id {
	char bytes[128];
};

static void *hip, *rccl;

static void *find(void *library, const char *name)
{
	void *function = dlsym(library, name);

	if (!function) {
		fprintf(stderr, "rccl: %s\n", dlerror());
		exit(1);
	}
	return function;
}

/* CALL(library, function, (types), arguments): by name, so that one program serves every release.
 */
#define CALL(library, name, types, ...)                                                            \
	check(((int(*) types)find(library, #name))(__VA_ARGS__), #name)

static void all_reduce(void *to, void *comm, void *stream)
{
	CALL(rccl, ncclAllReduce, (const void *, void *, size_t, int, int, void *, void *), to, to,
		COUNT, FLOAT32, SUM, comm, stream);
}

static void replay_graph(int rounds, void *data, void *comm, void *stream)
{
	void *graph, *exec;

	CALL(hip, hipStreamBeginCapture, (void *, int), stream, 1 /* thread-local */);
	for (int i = 0; i < 4; i++)
		all_reduce(data, comm, stream);
	CALL(hip, hipStreamEndCapture, (void *, void **), stream, &graph);
	CALL(hip, hipGraphInstantiate, (void **, void *, void *, char *, size_t), &exec, graph,
		NULL, NULL, 0);
	for (int i = 0; i < rounds; i++)
		CALL(hip, hipGraphLaunch, (void *, void *), exec, stream);
	CALL(hip, hipStreamSynchronize, (void *), stream);
	CALL(hip, hipGraphExecDestroy, (void *), exec);
	CALL(hip, hipGraphDestroy, (void *), graph);
}

/* The first rank makes the id and gives it to each of the others through a pipe of its own. */
static struct unique_id meet(int rank, int ranks, const int *to, int from)
{
	struct unique_id id;

	if (rank) {
		check(read(from, &id, sizeof(id)) != sizeof(id), "read");
		return id;
	}
	CALL(rccl, ncclGetUniqueId, (struct unique_id *), &id);
	for (int i = 1; i < ranks; i++)
		check(write(to[i], &id, sizeof(id)) != sizeof(id), "write");
	return id;
}

static const char id_file[] = "rccl-id";

/* The first rank writes the id to a file that has its name only when it is whole. */
static struct unique_id meet_by_file(int rank)
{
	static const char part[] = "rccl-id.part";
	struct unique_id id;
	int fd;

	if (!rank) {
		CALL(rccl, ncclGetUniqueId, (struct unique_id *), &id);
		fd = open(part, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		check(fd < 0 || write(fd, &id, sizeof(id)) != sizeof(id), part);
		close(fd);
		check(rename(part, id_file), id_file);
		return id;
	}
	/* The first rank writes it within its first seconds; a minute is for a busy machine. */
	for (int tries = 0; (fd = open(id_file, O_RDONLY)) < 0 && tries < 60000; tries++)
		usleep(1000);
	check(fd < 0, id_file);
	check(read(fd, &id, sizeof(id)) != sizeof(id), id_file);
	close(fd);
	return id;
}

/* @to: NULL: the ranks meet by a file. */
static void run_rank(char **argv, int rank, int ranks, const int *to, int from)
{
	void *stream, *in, *out, *comm;
	int rounds = atoi(argv[4]);
	struct unique_id id;

	hip = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
	rccl = hip ? dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL) : NULL;
	if (!rccl) {
		fprintf(stderr, "rccl: %s\n", dlerror());
		exit(1);
	}
	CALL(hip, hipSetDevice, (int), rank);
	CALL(hip, hipStreamCreate, (void **), &stream);
	CALL(hip, hipMalloc, (void **, size_t), &in, COUNT * 4 * (size_t)ranks);
	CALL(hip, hipMalloc, (void **, size_t), &out, COUNT * 4 * (size_t)ranks);
	id = to ? meet(rank, ranks, to, from) : meet_by_file(rank);
	CALL(rccl, ncclCommInitRank, (void **, int, struct unique_id, int), &comm, ranks, id, rank);
	/* All ranks have met: a later run finds no id of this one. */
	if (!to && !rank)
		unlink(id_file);
	if (argv[5])
		replay_graph(rounds, in, comm, stream);
	for (int i = 0; i < rounds; i++) {
		all_reduce(in, comm, stream);
		CALL(rccl, ncclAllGather, (const void *, void *, size_t, int, void *, void *), in,
			out, COUNT, FLOAT32, comm, stream);
	}
	CALL(hip, hipStreamSynchronize, (void *), stream);
	CALL(rccl, ncclCommDestroy, (void *), comm);
}

static int number_of(const char *variable)
{
	const char *value = getenv(variable);

	check(!value, variable);
	return atoi(value);
}

int main(int argc, char **argv)
{
	int ranks = argc > 4 ? atoi(argv[3]) : 0, to[RANKS_MAX], ends[2];
	pid_t pid[RANKS_MAX];
	char text[16];
	bool is_bad = false;

	if (argc > 4 && !strcmp(argv[3], "launched")) {
		run_rank(argv, number_of("RANK"), number_of("WORLD_SIZE"), NULL, -1);
		printf("rank %d done\n", number_of("RANK"));
		return 0;
	}
	if (ranks < 1 || ranks > RANKS_MAX)
		return 2;
	snprintf(text, sizeof(text), "%d", ranks);
	setenv("WORLD_SIZE", text, 1);
	setenv("LOCAL_WORLD_SIZE", text, 1);
	setenv("GROUP_RANK", "0", 1);
	/* The last first: the first one then has an end of each pipe. */
	for (int i = ranks - 1; i >= 0; i--) {
		check(i ? pipe(ends) : 0, "pipe");
		pid[i] = fork();
		if (!pid[i]) {
			snprintf(text, sizeof(text), "%d", i);
			setenv("RANK", text, 1);
			setenv("LOCAL_RANK", text, 1);
			run_rank(argv, i, ranks, to, ends[0]);
			exit(0);
		}
		if (i) {
			close(ends[0]);
			to[i] = ends[1];
		}
	}
	for (int i = 0; i < ranks; i++) {
		int status = 0;

		waitpid(pid[i], &status, 0);
		printf("rank %d %s\n", i, status ? "failed" : "done");
		is_bad |= status != 0;
	}
	return is_bad;
}

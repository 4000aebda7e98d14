/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Which processes of a command use a GPU without the shim in them: started with a cleaned
 * environment, statically linked, or with other rights. They say nothing themselves, so the
 * file would be "complete: 0 dispatched". The driver lists the processes that have it open; rtl run
 * looks there while it waits for its command, less and less often. A process that comes and goes
 * between two looks is not seen, nor is any where the names in the list are not those of our pid
 * namespace. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Processes with the driver open that are remembered, so that each is read once; of more, the rest
 * is not judged. */
#define GPU_WATCH_MAX	    1024u
/* Of those, so many are named. */
#define GPU_WATCH_NAMED_MAX 8u

struct gpu_watch_place {
	const char *list;   /* a folder with a name for each process that has the driver open */
	const char *device; /* what they have open */
	const char *proc;
};

/* Where the kernel has them. */
extern const struct gpu_watch_place gpu_watch_kernel;

struct gpu_watch_process {
	pid_t pid;
	bool is_judged; /* the shim is in it, or it is one of `unseen` */
	bool may_load;	/* its environment names the shim: it may be about to load it */
};

struct gpu_watch {
	struct gpu_watch_place place;
	pid_t root;		     /* the command's processes are its descendants */
	uint64_t next_ns, period_ns; /* CLOCK_MONOTONIC */
	struct gpu_watch_process at[GPU_WATCH_MAX];
	size_t count;
	uint32_t unseen;
	struct gpu_watch_unseen {
		pid_t pid;
		char exe[256];
		const char *why;
	} named[GPU_WATCH_NAMED_MAX];
};

void gpu_watch_init(struct gpu_watch *watch, const struct gpu_watch_place *place, pid_t root);

/* For poll(): milliseconds until the next look; -1: there is no such driver. */
int gpu_watch_wait_ms(const struct gpu_watch *watch, uint64_t now_ns);

/* Looks if it is time to. */
void gpu_watch_run(struct gpu_watch *watch, uint64_t now_ns);

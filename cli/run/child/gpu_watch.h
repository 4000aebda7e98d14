/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Finds processes of a command that use a GPU without having loaded the shim: processes that were
 * started with a cleaned environment, are statically linked, or have other privileges. They report
 * nothing, so the file would be "complete: 0 dispatched".
 * The driver lists the processes that have it open. rtl run reads that list while it waits for its
 * command, at growing intervals. A process that starts and ends between two checks is not seen, and
 * none is seen if the list contains pids of another pid namespace. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Processes with the driver open that are remembered, so that each is read once; further ones are
 * not examined.
 */
#define GPU_WATCH_MAX	    1024u
/* At most this many of them are named. */
#define GPU_WATCH_NAMED_MAX 8u

struct gpu_watch_place {
	const char *list;   /* a folder with an entry for each process that has the driver open */
	const char *device; /* the device that they have open */
	const char *proc;
};

/* The places of the real kernel. */
extern const struct gpu_watch_place gpu_watch_kernel;

struct gpu_watch_process {
	pid_t pid;
	bool is_judged; /* the shim is in it, or it is counted in `unseen` */
	bool may_load;	/* its environment names the shim, so it may be about to load it */
};

struct gpu_watch {
	struct gpu_watch_place place;
	pid_t root;		     /* processes of the command are its descendants */
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

/* For poll(): milliseconds until the next check; -1 if there is no such driver. */
int gpu_watch_wait_ms(const struct gpu_watch *watch, uint64_t now_ns);

/* Checks the processes if it is time to. */
void gpu_watch_run(struct gpu_watch *watch, uint64_t now_ns);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * hip-scenes: small HIP programs as an application's author writes them, compiled by the
 * distribution's hipcc. Each scene prints what it did and what HIP returned. Two runs on a GPU with
 * scripted times print the same, so a run under the profiler is compared with one without. A HIP
 * error ends the program with status 1.
 */
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

#define HIP_OK(call)                                                                               \
	do {                                                                                       \
		hipError_t hip_ok_error = (call);                                                  \
		if (hip_ok_error != hipSuccess) {                                                  \
			fprintf(stderr, "hip-scenes: %s:%d: %s: %s\n", __FILE__, __LINE__, #call,  \
				hipGetErrorString(hip_ok_error));                                  \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* Numbers from the command line; 0 if not given. */
struct scene_args {
	unsigned n, m;
	const char *path[2]; /* code objects */
};

void scene_streams(const scene_args &args);   /* n streams, m rounds */
void scene_threads(const scene_args &args);   /* n threads, m launches each */
void scene_flood(const scene_args &args);     /* n launches on one stream */
void scene_elapsed(const scene_args &args);   /* hipEventElapsedTime */
void scene_extlaunch(const scene_args &args); /* hipExt launches with events, n of them */
void scene_callbacks(const scene_args &args); /* n rounds of callbacks */
void scene_coop(const scene_args &args);      /* n cooperative and n plain launches */
void scene_memory(const scene_args &args);    /* fills and copies, checked */
void scene_peers(const scene_args &args);     /* copies between two GPUs, checked */
void scene_devices(const scene_args &args);   /* every GPU, n launches each */
void scene_reset(const scene_args &args);     /* n rounds of work and hipDeviceReset */
void scene_modules(const scene_args &args);   /* n rounds of load, launch, unload */
void scene_shapes(const scene_args &args);    /* blocks of arguments, LDS, scratch */
void scene_graph(const scene_args &args);     /* a chain of n nodes, m replays */
void scene_forks(const scene_args &args);     /* a graph that forks n ways, m replays */
void scene_captured(const scene_args &args);  /* n captured launches, m replays */
void scene_dies(const scene_args &args);      /* after n ways to see ends, by m */
void scene_seen(const scene_args &args); /* rounds of at most n launches, beginning with round m */
void scene_steady(const scene_args &args); /* bursts of n launches, m with a system call */
void scene_waits(const scene_args &args);  /* waits after graphs, n rounds; SOFTGPU_TRUTH is set */

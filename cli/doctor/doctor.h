/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * "Why are there no kernels?": everything that stands between a job and its record, looked at
 * one by one. Each group of checks is one file; all add to one list, which command.c prints.
 * What may harm (loading libraries) happens in a child process. One thread.
 */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum doctor_level {
	DOCTOR_OK,
	DOCTOR_WARN, /* may explain something; nothing is impossible */
	DOCTOR_FAIL, /* jobs are not recorded, or have no GPU */
};

#define DOCTOR_DETAIL_BYTES 512
#define DOCTOR_FINDINGS_MAX 64

struct doctor_finding {
	enum doctor_level level;
	const char *what; /* of the check: one word */
	const char *todo; /* NULL: nothing */
	char detail[DOCTOR_DETAIL_BYTES];
};

struct doctor {
	bool is_soft;		/* for jobs on the software GPU */
	const char *program;	/* that jobs would start; NULL: any */
	char runtime[PATH_MAX]; /* libhsa-runtime64 that it would load; "": what the loader finds */
	bool has_sdk;		/* rocprofiler-sdk is among its libraries, or those of its Python */
	size_t count;
	struct doctor_finding findings[DOCTOR_FINDINGS_MAX];
};

void doctor_add(struct doctor *doctor, enum doctor_level level, const char *what, const char *todo,
	const char *format, ...) __attribute__((format(printf, 5, 6)));

void doctor_check_collector(struct doctor *doctor); /* sockets, daemon, private folder */
/* What it would load; before all that look at the runtime. */
void doctor_check_program(struct doctor *doctor);
void doctor_check_libraries(struct doctor *doctor); /* shim, HSA runtime */
void doctor_check_tools(struct doctor *doctor);	    /* other tools, and whose the queues are */
void doctor_check_choices(struct doctor *doctor);   /* what variables leave out */
void doctor_check_runtime(struct doctor *doctor);   /* its release, the front end */
void doctor_check_devices(struct doctor *doctor);   /* /dev/kfd, /dev/dri, groups, topology */
void doctor_check_system(struct doctor *doctor);    /* kernel, disk, file system, clock */

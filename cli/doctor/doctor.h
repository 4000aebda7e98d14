/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Answers "Why are there no kernels?" by checking everything that a record needs. Each group of
 * checks is one file; all add to one list, which command.c prints. Dangerous checks (loading
 * libraries) run in a child process. One thread.
 */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum doctor_level {
	DOCTOR_OK,
	DOCTOR_WARN, /* may be an explanation, but makes nothing impossible */
	DOCTOR_FAIL, /* jobs are not recorded, or have no GPU */
};

#define DOCTOR_DETAIL_BYTES 512
#define DOCTOR_FINDINGS_MAX 64

struct doctor_finding {
	enum doctor_level level;
	const char *what; /* name of the check: one word */
	const char *todo; /* NULL if there is nothing to do */
	char detail[DOCTOR_DETAIL_BYTES];
};

struct doctor {
	bool is_soft;	     /* check for jobs on the software GPU */
	const char *program; /* the program that jobs would start; NULL for any */
	/* The libhsa-runtime64 that it would load; "" for what the loader finds. */
	char runtime[PATH_MAX];
	bool has_sdk; /* rocprofiler-sdk is among its libraries, or those of its Python */
	size_t count;
	struct doctor_finding findings[DOCTOR_FINDINGS_MAX];
};

void doctor_add(struct doctor *doctor, enum doctor_level level, const char *what, const char *todo,
	const char *format, ...) __attribute__((format(printf, 5, 6)));

void doctor_check_collector(struct doctor *doctor); /* sockets, daemon, private folder */
/* Finds what it would load; must come before all checks of the runtime. */
void doctor_check_program(struct doctor *doctor);
void doctor_check_libraries(struct doctor *doctor); /* shim, HSA runtime */
void doctor_check_tools(struct doctor *doctor); /* other tools, and which of them owns the queues */
void doctor_check_choices(struct doctor *doctor); /* variables that leave data out */
void doctor_check_runtime(struct doctor *doctor); /* release and front end */
void doctor_check_devices(struct doctor *doctor); /* /dev/kfd, /dev/dri, groups, topology */
void doctor_check_system(struct doctor *doctor);  /* kernel, disk, file system, clock */

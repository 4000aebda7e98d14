/* SPDX-License-Identifier: MIT */
#pragma once
/* The launch that several rtl run belong to. */
#include <stdbool.h>
#include <sys/types.h>

#include "proto/base/limits.h"
#include "proto/settings/rank.h"

struct run_launch {
	struct rank_info rank;
	/*
	 * The launcher's key, or its process if it has no key, or a name that only this rtl run
	 * has.
	 */
	char job[LABEL_BYTES_MAX];
	/*
	 * The key for a service. A service continues a closed session when its key comes again, so
	 * if a launcher uses the same key for each launch, this one contains the launcher's
	 * process.
	 */
	char service_job[LABEL_BYTES_MAX];
	bool is_named;	/* by --name */
	bool is_shared; /* other runs of the same launch may come with the same job */
	/*
	 * The process that started the ranks of this node; 0 if it cannot be seen or is no
	 * launcher.
	 */
	pid_t launcher;
	unsigned long long launcher_start;
};

/* @name: of --name, which stands above the launcher's key; NULL if there is none. */
void run_launch_detect(struct run_launch *launch, const char *command, const char *name);

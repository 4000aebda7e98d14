/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The identity of this process as Hello and the recorder's header state it. Read once in OnLoad,
 * constant afterwards.
 */
#include <stdint.h>
#include <sys/types.h>

#include "proto/base/limits.h"

struct identity {
	uint8_t boot_id[16];
	uint8_t token[16]; /* random: tells instances within one pid apart */
	int64_t pid;
	uint64_t start_time; /* field 22 of /proc/self/stat */
	uint64_t start_ns;   /* CLOCK_BOOTTIME */
	char exe[COMMAND_BYTES_MAX / 4];
	char command[COMMAND_BYTES_MAX]; /* argv separated by blanks, truncated if too long */
	char host[LABEL_BYTES_MAX];
};

/* -errno if the boot id, token or start time is not available; the other strings may stay empty. */
int identity_read(struct identity *ret);

/* Field 22 of the text of a /proc/PID/stat. -EBADMSG. For tests. */
int identity_parse_stat(const char *text, uint64_t *ret);

/* "xxxxxxxx-xxxx-..." to 16 bytes. -EBADMSG. For tests. */
int identity_parse_uuid(const char *text, uint8_t ret[16]);

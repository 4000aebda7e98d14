/* SPDX-License-Identifier: MIT */
#include "proto/base/process_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/base/cleanup.h"

/* Numbers of fields, as in proc(5). */
#define FIELD_STATE	 3
#define FIELD_PARENT	 4
#define FIELD_START_TIME 22
#define FIELD_EXIT_CODE	 52

int process_stat_read(pid_t pid, struct process_stat *ret)
{
	char path[64], text[1024];
	CLEANUP(close_p) int fd = -1;
	ssize_t bytes;
	char *at;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	bytes = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	text[bytes > 0 ? bytes : 0] = '\0';
	*ret = (struct process_stat){0};
	/* The name in field 2 may contain any character, and ends with the last parenthesis. */
	at = strrchr(text, ')');
	for (int field = FIELD_STATE; at && field <= FIELD_EXIT_CODE; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
		if (at && field == FIELD_STATE)
			ret->state = *at;
		else if (at && field == FIELD_PARENT)
			ret->parent = (pid_t)strtol(at, NULL, 10);
		else if (at && field == FIELD_START_TIME)
			ret->start_time = strtoull(at, NULL, 10);
		else if (at && field == FIELD_EXIT_CODE)
			ret->exit_status = (int)strtol(at, NULL, 10);
	}
	return at ? 0 : -ESRCH;
}

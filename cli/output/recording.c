// SPDX-License-Identifier: MIT
#include "cli/output/recording.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "proto/base/cleanup.h"
#include "proto/names/schema.h"

/* Offset of application_id in the header, big-endian. */
#define APPLICATION_ID_AT 68

bool is_recording(const char *path)
{
	/* "SQLite format 3" including its NUL. */
	static const char magic[16] = "SQLite format 3";
	CLEANUP(close_p) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	unsigned char header[100];
	const unsigned char *id = header + APPLICATION_ID_AT;

	return fd >= 0 && pread(fd, header, sizeof(header), 0) == sizeof(header) &&
	       !memcmp(header, magic, sizeof(magic)) &&
	       ((uint32_t)id[0] << 24 | (uint32_t)id[1] << 16 | (uint32_t)id[2] << 8 | id[3]) ==
		       SCHEMA_APPLICATION_ID;
}

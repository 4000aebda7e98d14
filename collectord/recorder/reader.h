/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Reads the recorder of another process with pread only, so that no hole, seal or concurrent write
 * can do harm: a mapping could fault, and lseek can wait without end for a process that writes the
 * file. The header is copied once, and each of its fields is checked against limits.h before
 * anything else is read; after that no offset can leave the file. Store thread.
 */
#include <stdint.h>

#include "proto/recorder/layout.h"

struct recorder_reader {
	int fd; /* borrowed */
	struct recorder_header header;
};

/*
 * 0; -ENODATA: its process died before the shim made it ready, so it is empty; -EBADMSG: it is not
 * a recorder, belongs to another process, or is out of bounds.
 */
int recorder_reader_open(
	struct recorder_reader *reader, int fd, const uint8_t boot_id[16], const uint8_t token[16]);

/* Reads the changing part of the header again and checks it. -EBADMSG. */
int recorder_reader_refresh(struct recorder_reader *reader);

/* Reads @count elements of @region from @first on, whole strides. -EBADMSG: out of bounds or cut
 * off. */
int recorder_reader_get(const struct recorder_reader *reader, const struct recorder_region *region,
	uint64_t first, uint64_t count, void *ret);

/*
 * Returns how many of the first @count elements of @region may hold anything; only zeros follow
 * them. Reads from the end, which allocates no page that was never written.
 */
uint64_t recorder_reader_written(
	const struct recorder_reader *reader, const struct recorder_region *region, uint64_t count);

/*
 * Finds the first frame after @after that is there; *@ret_number is 0 if there is none. @cell has
 * room for a whole cell. Errors as recorder_reader_get().
 */
int recorder_reader_find_cell(const struct recorder_reader *reader, uint64_t after,
	struct recorder_cell *cell, uint64_t *ret_number);

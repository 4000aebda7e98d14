/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Reads the recorder of another process: by pread only, so that no hole, seal or late writer
 * can hurt (a mapping could fault, and lseek waits for who writes it, which may be for ever). The
 * header is copied once and every field of it checked against limits.h before anything else is
 * read; after that no offset can leave the file. Store thread.
 */
#include <stdint.h>

#include "proto/recorder/layout.h"

struct recorder_reader {
	int fd; /* borrowed */
	struct recorder_header header;
};

/*
 * 0; -ENODATA: its shim died before it was ready, so there is nothing in it; -EBADMSG: not a
 * recorder, of another process, or out of bounds.
 */
int recorder_reader_open(
	struct recorder_reader *reader, int fd, const uint8_t boot_id[16], const uint8_t token[16]);

/* Reads the header's published part again, as far as it may be believed. -EBADMSG. */
int recorder_reader_refresh(struct recorder_reader *reader);

/* @count elements of @region from @first, whole strides. -EBADMSG: out of bounds or cut off. */
int recorder_reader_get(const struct recorder_reader *reader, const struct recorder_region *region,
	uint64_t first, uint64_t count, void *ret);

/*
 * How many of the first @count elements of @region may hold anything: behind them there are only
 * zeros. Reads those from the end, which for pages that nobody ever wrote allocates none.
 */
uint64_t recorder_reader_written(
	const struct recorder_reader *reader, const struct recorder_region *region, uint64_t count);

/*
 * The first frame behind @after that is there; 0: none is. @cell: room for a whole one. As
 * recorder_reader_get().
 */
int recorder_reader_find_cell(const struct recorder_reader *reader, uint64_t after,
	struct recorder_cell *cell, uint64_t *ret_number);

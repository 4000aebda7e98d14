/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Reads what a recorder holds besides its records: definitions and counters. The process may be
 * dead or alive: both regions only grow, and a definition counts once it is whole. Store thread.
 */
#include "collectord/ingest/process/process.h"
#include "collectord/recorder/reader.h"

/* Decodes all definitions. -EBADMSG: the log ends in bytes that are no frame, and what precedes
 * them was taken; -ENOMEM; database_errno(). */
int recorder_books_defines(
	struct writer *writer, struct process *process, const struct recorder_reader *reader);

/* Takes the counters of the process itself, read at @read_ns (CLOCK_BOOTTIME). -ENOMEM. */
int recorder_books_process(
	struct process *process, const struct recorder_reader *reader, uint64_t read_ns);
/* Takes the counters of queue @id, after recorder_books_process(); does not check the tenant's
 * memory. -ENOMEM. */
int recorder_books_queue(struct process *process, const struct recorder_queue *queue, uint32_t id);

/*
 * Takes the counters of the process and of its queues. @queues holds the first @count queue blocks,
 * read at @read_ns or later. Queues for which the tenant has no memory are left out. -ENOMEM.
 */
int recorder_books_counters(struct process *process, const struct recorder_reader *reader,
	const struct recorder_queue *queues, uint64_t count, uint64_t read_ns);

/* Reads the first @count elements of @region; the caller frees *@ret_array. -ENOMEM, -EBADMSG. */
int recorder_books_read(const struct recorder_reader *reader, const struct recorder_region *region,
	uint64_t count, void *ret_array);

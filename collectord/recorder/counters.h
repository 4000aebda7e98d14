/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What a recorder says besides its records: definitions and counters. Of a dead process, and of one
 * that lives: both only grow, and a definition counts once it is whole. Store thread.
 */
#include "collectord/ingest/process.h"
#include "collectord/recorder/reader.h"

/* The definitions, to be taken one frame at a time. */
struct recorder_log {
	uint8_t *bytes; /* NULL: not read */
	uint64_t count;
	uint64_t at;
};

/* A copy of what there is now. -ENOMEM, -EBADMSG. */
int recorder_log_read(struct recorder_log *log, const struct recorder_reader *reader);
/* 1: go on; 0: that was all; errors as of recorder_books_defines(). */
int recorder_log_take(struct recorder_log *log, struct writer *writer, struct process *process);
void recorder_log_done(struct recorder_log *log);

/* All of them. -EBADMSG: the log ends in rubbish, what was before it is taken; -ENOMEM;
 * database_errno(). */
int recorder_books_defines(
	struct writer *writer, struct process *process, const struct recorder_reader *reader);

/* The counters of the process itself, read at @read_ns (CLOCK_BOOTTIME). -ENOMEM. */
int recorder_books_process(
	struct process *process, const struct recorder_reader *reader, uint64_t read_ns);
/* Behind that, those of queue @id, also where its tenant has no memory for them. -ENOMEM. */
int recorder_books_queue(struct process *process, const struct recorder_queue *queue, uint32_t id);

/*
 * All of them. @queues: the first @count queue blocks, read from @read_ns on; those are left out
 * for which its tenant has no memory. -ENOMEM.
 */
int recorder_books_counters(struct process *process, const struct recorder_reader *reader,
	const struct recorder_queue *queues, uint64_t count, uint64_t read_ns);

/* @count elements of @region from the first on; the caller frees *@ret_array. -ENOMEM, -EBADMSG. */
int recorder_books_read(const struct recorder_reader *reader, const struct recorder_region *region,
	uint64_t count, void *ret_array);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What a process that lives has in flight: who hangs, and in what. A look reads the counters of its
 * recorder (some KiB); its slots only where a queue with work in flight has not got on since the look
 * before, or when somebody asks. What it finds lies in rtl_in_flight until it is over. Store thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "collectord/ingest/process.h"

struct in_flight {
	int memfd;	    /* the recorder; -1: nobody has it */
	bool may_have_rows; /* of rtl_in_flight */
	uint64_t *finished; /* by queue, as the look before saw it */
	uint64_t queues;
};

/* @memfd becomes its own. */
void in_flight_init(struct in_flight *watch, int memfd);
void in_flight_done(struct in_flight *watch);

/*
 * In an open transaction, where process_save() follows. @is_asked: all that is in flight, however
 * short. A recorder that cannot be believed has nothing in flight: the drain will say why.
 * 1: something was written; 0; -ENOMEM or database_errno(): roll back.
 */
int in_flight_look(struct in_flight *watch, struct writer *writer, struct process *process,
	bool is_asked);

/* The rows of a process that was read to its end: rtl_outstanding has them. database_errno(). */
int in_flight_forget(struct writer *writer, int64_t process_id);

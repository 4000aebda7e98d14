/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * From records to frames in cells: shapes are interned into the define log, columns are
 * encoded straight into the cell, steps L, P and R of docs/recorder.md. Runs under the harvest
 * lock; on the dispatch path only from harvest_inline(), where it waits for nothing.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct capture;

/*
 * Publishes frames of finished slots: full ones; with @is_due also a part of one. Past a
 * quarter of the cells unacknowledged only full ones, unless @is_forced. @is_inline: wait for
 * nothing. Returns the frames published.
 */
unsigned batch_run(struct capture *capture, bool is_due, bool is_forced, bool is_inline);

/* A frame of records that are not dispatches, by the steps of docs/recorder.md, 3. */
struct batch_frame {
	/* Writes the whole frame, prefix and @number included; 0: it does not fit after all. */
	size_t (*pack)(void *context, uint64_t number, uint8_t *at, size_t room);
	/* L: every record is labelled with @number. */
	void (*label)(void *context, uint64_t number);
	/* R: every record is given back. */
	void (*release)(void *context);
	void *context;
	uint32_t records;
};

/*
 * Waits for the harvest lock: the harvester's thread only. 0; -EAGAIN: no cell is free;
 * -EMSGSIZE: it does not fit.
 */
int batch_put_frame(struct capture *capture, const struct batch_frame *frame);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Turns records into frames in cells: interns shapes into the define log and encodes columns
 * straight into the cell; steps L, P and R of docs/recorder.md. Runs under the harvest lock; on the
 * dispatch path only from harvest_queue_inline(), where it does not wait.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct capture;

/*
 * Publishes frames of finished slots: full frames, and with @is_due a partial one. While more than
 * a quarter of the cells is unacknowledged, only full ones unless @is_forced. With @is_inline it
 * does not wait. Returns the number of frames published.
 */
unsigned batch_run(struct capture *capture, bool is_due, bool is_forced, bool is_inline);

/* A frame of records that are not dispatches, by the steps of docs/recorder.md, section 3. */
struct batch_frame {
	/* Writes the whole frame, prefix and @number included; returns 0 if it does not fit. */
	size_t (*pack)(void *context, uint64_t number, uint8_t *at, size_t room);
	/* L: labels every record with @number. */
	void (*label)(void *context, uint64_t number);
	/* R: releases every record. */
	void (*release)(void *context);
	void *context;
	uint32_t records;
};

/*
 * Waits for the harvest lock, so only for the thread that harvests. -EAGAIN: no cell is free;
 * -EMSGSIZE: the frame does not fit.
 */
int batch_put_frame(struct capture *capture, const struct batch_frame *frame);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Start and stop: keeps the controls given to a session, so that a process that connects later
 * receives them after its Welcome, and keeps what each process reports about itself. Loop thread;
 * never waits for a disk.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/settings/selection.h"
#include "proto/wire/rtl.pb-c.h"

struct instance;
struct session;

/* One start or stop of rtl ctl, as the session keeps it. */
struct control {
	uint64_t seq; /* CLOCK_BOOTTIME of the request, made higher than any before */
	bool record;
	uint64_t until_ns; /* CLOCK_BOOTTIME after which the opposite applies; 0: no end */
	struct choice_list ranks;
};

/* What one process has reported; part of its instance. */
struct control_state {
	bool has_control; /* its shim understands Control */
	bool is_told;	  /* it has reported its state, on any connection */
	uint32_t closed;  /* enum control_closed; 0: it is recording */
	uint64_t seq;	  /* of the newest Control that it has confirmed */
	bool settles;	  /* it reports when all its records are published */
	bool is_settled;  /* they are published, in the frames up to settled_frame */
	uint64_t settled_frame;
	bool has_rank;
	uint32_t rank;
};

/* Takes what the Hello says. */
void control_introduce(struct instance *instance, const Rtl__Hello *hello);

/* Called after its Welcome: sends the control that it may have missed. */
void control_welcome(struct instance *instance);

/*
 * Reads ControlDone from the frames of a process, with their length prefixes, before they go to the
 * store.
 */
void control_take(struct instance *instance, const uint8_t *frames, size_t bytes);

/* The rank of a process, as the store knows it by now. Returns false if it has none. */
bool control_rank(const struct instance *instance, uint32_t *ret);

/*
 * True if the process is not stopped, or everything that it recorded until it stopped is stored, or
 * its shim does not report when that is so.
 */
bool control_is_stored(const struct instance *instance);

/* True if @ranks selects this process. A process that does not know its rank is in no list. */
bool control_is_meant(const struct instance *instance, const struct choice_list *ranks);

/*
 * Sends @control to the live processes and keeps it for later ones. Gives it a seq if it has none.
 * -ENOMEM.
 */
int control_apply(struct session *session, struct control *control);

/* Restores the controls that an earlier collector kept, before any process is welcomed. */
void control_restore(struct session *session, const char *text);

/* The state of a process, as ctl and stat print it. */
const char *control_text(const struct instance *instance);

/* Frees the controls of the session. */
void control_forget(struct session *session);

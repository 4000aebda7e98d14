/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Start and stop: what a session was told, so that who comes (back) later hears it after its
 * Welcome, and what each process says about itself. Loop thread; never waits for a disk.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/settings/selection.h"
#include "proto/wire/rtl.pb-c.h"

struct instance;
struct session;

/* One rtl ctl start or stop, as its session keeps it. */
struct control {
	uint64_t seq; /* CLOCK_BOOTTIME of the request, and higher than any before */
	bool record;
	uint64_t until_ns; /* CLOCK_BOOTTIME: the opposite from then on; 0: until told otherwise */
	struct choice_list ranks;
};

/* What one process says; of the instance. */
struct control_state {
	bool has_control; /* it understands Control */
	bool is_told;	  /* it has said how it is, on some connection */
	uint32_t closed;  /* enum control_closed; 0: it records */
	uint64_t seq;	  /* of the newest Control that it knows */
	bool settles;	  /* it says when all that it has recorded is published */
	bool is_settled;  /* it is: in the frames up to this one */
	uint64_t settled_frame;
	bool has_rank;
	uint32_t rank;
};

/* From its Hello. */
void control_introduce(struct instance *instance, const Rtl__Hello *hello);

/* After its Welcome: what it may have missed. */
void control_welcome(struct instance *instance);

/* Frames of a process, with prefixes, before they go to the store: picks ControlDone out. */
void control_take(struct instance *instance, const uint8_t *frames, size_t bytes);

/* The rank of a process, as far as the store has found it by now. False: it has none. */
bool control_rank(const struct instance *instance, uint32_t *ret);

/* What @instance has recorded is stored, as far as it was told to stop; or it does not say so. */
bool control_is_stored(const struct instance *instance);

/* Whether @ranks means this process; one that does not know its rank is in no list. */
bool control_is_meant(const struct instance *instance, const struct choice_list *ranks);

/* @control has no seq yet: it gets one. For what lives now and what will come. -ENOMEM. */
int control_apply(struct session *session, struct control *control);

/* What an earlier life of the collector was told; before anybody is welcomed. */
void control_restore(struct session *session, const char *text);

/* How a process is, as ctl and stat say it. */
const char *control_text(const struct instance *instance);

/* The session's memory of it goes. */
void control_forget(struct session *session);

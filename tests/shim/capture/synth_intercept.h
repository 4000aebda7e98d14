/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * ROCr's intercept queue in front of a synthetic one: a proxy ring, a mutex, a callback, and a
 * writer into the device's ring. Each known generation of it passes packets on in its own way.
 */
#include "shim/hsa/intercept_api.h"
#include "tests/shim/capture/synth.h"

enum synth_proxy_mode {
	SYNTH_PROXY_ONE,    /* up to 7.1.0: one packet per callback */
	SYNTH_PROXY_RUN,    /* everything pending up to the end of the ring */
	SYNTH_PROXY_STAGED, /* everything pending, through a buffer if it wraps around */
};

struct synth_proxy;

/* Set by the test before queues are created. */
extern enum synth_proxy_mode synth_proxy_mode;
extern bool synth_proxy_fails; /* the next intercept_create fails */

/* Adds the functions that create, intercept and destroy queues. */
void synth_intercept_hsa(struct capture_hsa *hsa);

/* The proxy or plain queue that a create function returned; and the device's queue behind it. */
struct synth_queue *synth_of_hsa(hsa_queue_t *queue);
struct synth_queue *synth_device_of(struct synth_queue *queue);
bool synth_is_proxy(const struct synth_queue *queue);

/* How many times the writer was called, and how many callbacks did not call it exactly once. */
uint64_t synth_proxy_batches(const struct synth_queue *proxy);
uint64_t synth_proxy_faults(const struct synth_queue *proxy);
/* The segment sizes that it was created with. */
uint32_t synth_proxy_private_bytes(const struct synth_queue *proxy);
uint32_t synth_proxy_group_bytes(const struct synth_queue *proxy);

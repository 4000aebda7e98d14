/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * ROCr's intercept queue in front of a synthetic one: a proxy ring, a mutex, a callback, and a
 * writer into the ring of the device. Each known generation of it hands packets on in its way.
 */
#include "shim/hsa/intercept_api.h"
#include "tests/shim/capture/synth.h"

enum synth_proxy_mode {
	SYNTH_PROXY_ONE,    /* up to 7.1.0: one packet a callback */
	SYNTH_PROXY_RUN,    /* all that is pending up to the end of the ring */
	SYNTH_PROXY_STAGED, /* all that is pending, through a buffer where it wraps */
};

struct synth_proxy;

/* What the test chooses before queues are created. */
extern enum synth_proxy_mode synth_proxy_mode;
extern bool synth_proxy_fails; /* the next intercept_create does */

/* Adds the functions that create, intercept and destroy queues. */
void synth_intercept_hsa(struct capture_hsa *hsa);

/* The proxy or plain queue that a create function returned; the device's behind it. */
struct synth_queue *synth_of_hsa(hsa_queue_t *queue);
struct synth_queue *synth_device_of(struct synth_queue *queue);
bool synth_is_proxy(const struct synth_queue *queue);

/* How often the writer was called, and how often a callback called it not exactly once. */
uint64_t synth_proxy_batches(const struct synth_queue *proxy);
uint64_t synth_proxy_faults(const struct synth_queue *proxy);
/* The segment sizes it was created with. */
uint32_t synth_proxy_private_bytes(const struct synth_queue *proxy);
uint32_t synth_proxy_group_bytes(const struct synth_queue *proxy);

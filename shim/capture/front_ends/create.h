/* SPDX-License-Identifier: MIT */
#pragma once
/* Makes a capture with its front ends. */
struct capture;
struct capture_hsa;
struct recorder_identity;

/* -ENOMEM, or the error of recorder_create(). The shim never frees the capture. */
int capture_create(const struct recorder_identity *identity, const struct capture_hsa *hsa,
	struct capture **ret);

/*
 * For tests: all queues are destroyed and no thread is inside. Destroys the signals. Returns NULL.
 */
struct capture *capture_free(struct capture *capture);

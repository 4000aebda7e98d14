/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * When the process recorded and when not: the gate's changes into the define log, which the
 * collector gets whole on every connection and reads when the process has died. Shim thread.
 */
#include <stdbool.h>

struct recorder;

/* Takes down what has changed; true: something has. Also keeps the counters about it. */
bool recording_run(struct recorder *recorder);

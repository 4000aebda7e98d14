/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Our functions in the runtime's tables through which a program learns that something has ended:
 * waits, loads, and callbacks of signals. Before the program knows of an end, the recorder does
 * (shim/capture/ends.h). Run on any application thread, and on the runtime's thread for callbacks.
 */
#include "shim/hsa/table.h"

/* When this returns, what had ended is in the recorder, if this process is recorded. */
void waits_record_ends(void);

/* Called in OnLoad; @table must stay valid for good. May be called again after a shut down. */
void waits_install(const struct hsa_table *table);

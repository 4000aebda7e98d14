/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Copies of the shim in one process. dlmopen() gives a runtime a namespace of the loader's, and
 * that runtime loads the shim there once more, with variables of its own. The collector takes a
 * second Hello of a process for what exec made of it, so one copy at a time may record: the
 * preloaded one, in the program's own namespace, keeps the claim. Any thread.
 */
#include <stdbool.h>

/* Whether this copy lies in another namespace than the program. */
bool namespace_is_other(void);

/* False: another copy records this process. True again for the copy that has the claim. */
bool namespace_claim(void);

/* Harmless for a copy that has not got it. */
void namespace_release(void);

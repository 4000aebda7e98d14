/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Keeps copies of the shim in one process apart. dlmopen() loads a runtime into a separate
 * namespace of the loader, and that runtime loads the shim there once more, with its own variables.
 * The collector would take a second Hello of a process for an exec, so only one copy may record:
 * the preloaded one, in the program's own namespace, keeps the claim. Any thread.
 */
#include <stdbool.h>

/* Whether this copy is in another namespace than the program. */
bool namespace_is_other(void);

/* Claims the process for this copy. False if another copy has the claim. */
bool namespace_claim(void);

/* Does nothing for a copy without the claim. */
void namespace_release(void);

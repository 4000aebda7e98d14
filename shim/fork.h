/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A forked child has our hooks but not our thread: everything it calls goes to the originals,
 * and what it inherited from us is closed. No locks there, no allocation.
 */

/* Registers the handler, once a process. OnLoad. */
void fork_watch(void);

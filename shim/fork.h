/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A forked child has our hooks but not our thread: everything it calls goes to the originals,
 * and what it inherited from us is closed. No locks there, no allocation. A child that was made
 * past libc (raw clone, _Fork) finds its hooks off by capture's own page, and keeps descriptors.
 */

/* Registers the handler, once a process. OnLoad. */
void fork_watch(void);

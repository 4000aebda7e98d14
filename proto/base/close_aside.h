/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Closing what takes the kernel a while to free: the memory of a recorder, the blocks of a file
 * that has no name any more. Any thread.
 */

/* Takes over @fd. A thread of its own closes it, with the caller's signals blocked; where there can
 * be none, the caller. The end of the process waits for it. */
void close_aside(int fd);

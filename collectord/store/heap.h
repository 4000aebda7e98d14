/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Sets how the heap of both threads grows, and touches its new pages. Frames go from one thread to
 * the other, and SQLite allocates pages of 32 KiB, so there is one heap for all. It grows in steps,
 * and one call touches a step in place of a fault for each page.
 */

/* Called before there is a second thread. */
void heap_keep(void);
/* Any thread; makes no system call unless the heap has grown since the last time. */
void heap_touch(void);

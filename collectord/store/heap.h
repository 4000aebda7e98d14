/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The heap of both threads: how it grows, and who touches what is new in it. Frames go from one
 * thread to the other, pages of SQLite's come and go by 32 KiB, so there is one heap for all, which
 * grows by a step; and a step is touched with one call in place of a fault for each page.
 */

/* Before there is a second thread. */
void heap_keep(void);
/* Any thread; no system call unless the heap has grown since the last time. */
void heap_touch(void);

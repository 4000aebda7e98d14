/* SPDX-License-Identifier: MIT */
/*
 * How rtl-demo speaks: one line at a time on stderr, whole, since all ranks share it. Called by
 * any thread. stdout is for the `dispatched` lines and what --list-... prints.
 */
#pragma once

/* The name in front of each line: "rank 3" in a rank, none in the parent. */
void talk_as_rank(int rank);

/* One line to stderr; a newline is added. */
__attribute__((format(printf, 1, 2))) void talk(const char *format, ...);

/* SPDX-License-Identifier: MIT */
#pragma once
/* Tells a database of rtl, which no other document may replace, from any other file. */
#include <stdbool.h>

/*
 * True if the header says that it is a database of rtl; read without SQLite. Also false if it
 * cannot be read. Must be called before this process opens the file with SQLite, whose locks are
 * released when a descriptor of the file is closed.
 */
bool is_recording(const char *path);

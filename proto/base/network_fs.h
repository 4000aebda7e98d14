/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * File systems that do not keep what SQLite builds on: their locks and shared memory do not work,
 * or not always, and a WAL needs both. The collector stores nothing there, and rtl doctor says so.
 */

/* The name of the one that @folder lies on, or NULL. */
const char *network_fs_name(const char *folder);

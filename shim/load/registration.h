/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What a runtime registers at rocprofiler-register comes by here where we are preloaded.
 * registration.c.
 */

/*
 * For OnLoad, which found another tool's functions in the tables: why that tool came first, for the
 * user. @function: one of the runtime.
 */
const char *registration_missed(const void *function);

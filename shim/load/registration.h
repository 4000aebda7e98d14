/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * registration.c receives what a runtime registers with rocprofiler-register, if we are preloaded.
 */

/*
 * Returns the text that OnLoad prints if another tool's functions are in the tables: it says why
 * that tool came first. @function is a function of the runtime.
 */
const char *registration_missed(const void *function);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Receives what a runtime registers with rocprofiler-register, if we are preloaded. registration.c.
 */

/*
 * For OnLoad, if it finds another tool's functions in the tables: a text for the user that says why
 * that tool came first. @function is a function of the runtime.
 */
const char *registration_missed(const void *function);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The two entries of a tool, called by the runtime with its bootstrap lock held: neither may
 * call hsa_init or hsa_shut_down. OnLoad may come again after OnUnload. registration.c has the
 * other way to the same tables, which a runtime goes first.
 */
#include <stdbool.h>
#include <stdint.h>

extern uint32_t HSA_AMD_TOOL_PRIORITY;

bool OnLoad(void *table, uint64_t runtime_version, uint64_t failed_tool_count,
	const char *const *failed_tool_names);
void OnUnload(void);

/*
 * The tables that a runtime registers before it loads its tools; @function: one of that runtime, by
 * which it is known. An OnLoad with the same tables may follow.
 */
void onload_take_registered(void *api_table, const void *function);

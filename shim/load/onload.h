/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The two entry points of a tool. The runtime calls them with its bootstrap lock held, so neither
 * may call hsa_init() or hsa_shut_down(). OnLoad may come again after OnUnload. registration.c
 * receives the same tables in another way. A runtime that uses both calls that first.
 */
#include <stdbool.h>
#include <stdint.h>

extern uint32_t HSA_AMD_TOOL_PRIORITY;

bool OnLoad(void *table, uint64_t runtime_version, uint64_t failed_tool_count,
	const char *const *failed_tool_names);
void OnUnload(void);

/*
 * Takes the tables that a runtime registers before it loads its tools. @function is a function of
 * that runtime and identifies it. An OnLoad with the same tables may follow.
 */
void onload_take_registered(void *api_table, const void *function);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * kernel_object -> symbol id: the part of symbols.h that the dispatch path reads. Lock-free, no
 * writes.
 */
#include <stdatomic.h>
#include <stdint.h>

/* Symbol ids are below PROCESS_SYMBOLS_MAX. */
#define SYMBOL_UNWANTED (1u << 31)

struct symbol_entry {
	_Atomic uint64_t kernel_object; /* 0 if free; written once */
	_Atomic uint32_t id; /* 0 if no longer loaded; with SYMBOL_UNWANTED */
	uint32_t string;     /* of the last definition; protected by the mutex */
	uint32_t last_id;    /* the same */
	/* For dispatches while the kernel had no name; protected by the mutex. */
	uint32_t unknown_id;
};

/* @mask is the number of places - 1. */
static inline uint32_t symbols_slot(uint64_t kernel_object, uint32_t mask)
{
	/* Descriptors are 64-byte aligned and adjacent, so neighbours share cache lines. */
	return (uint32_t)(kernel_object >> 6 ^ kernel_object >> 24) & mask;
}

/* 0 if it is not at its first place, or unknown. */
static inline uint32_t symbols_glance(
	const struct symbol_entry *entries, uint32_t mask, uint64_t kernel_object)
{
	const struct symbol_entry *entry = &entries[symbols_slot(kernel_object, mask)];

	if (atomic_load_explicit(&entry->kernel_object, memory_order_acquire) != kernel_object)
		return 0;
	return atomic_load_explicit(&entry->id, memory_order_acquire);
}

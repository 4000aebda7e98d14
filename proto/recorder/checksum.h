/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The checksum of recorder cells: XXH3 of the bytes, seeded with the frame's number, cut to
 * 32 bits. Against torn writes, not against forgery. xxHash is used as a header, so that the
 * shim gains no dependency.
 */
#include <stddef.h>
#include <stdint.h>

uint32_t checksum32(const void *data, size_t bytes, uint64_t number);

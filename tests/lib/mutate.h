/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Mutations that know how protobuf lies on the wire: fields go missing, come twice, change places,
 * numbers, types and lengths; numbers become those at which programs break; what is packed gains
 * and loses elements. No grammar: it reads the bytes. Pure, of the random number only. Tests.
 */
#include <stddef.h>
#include <stdint.h>

#define MUTATE_BYTES_MAX (64u << 10)

/* xorshift64*; @state is not 0. */
uint64_t mutate_random(uint64_t *state);
/* Below @limit, which is not 0. */
uint64_t mutate_below(uint64_t *state, uint64_t limit);

/*
 * One mutation of the message of @bytes at @data, which has room for @room. The bytes then; it may
 * be no message any more.
 */
size_t mutate_message(uint8_t *data, size_t bytes, size_t room, uint64_t *random);

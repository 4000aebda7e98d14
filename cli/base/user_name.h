/* SPDX-License-Identifier: MIT */
#pragma once
/* The names of users, as this machine knows them. One thread. */
#include <stdint.h>

/* A name, as useradd takes it. */
#define USER_NAME_BYTES 64

/* Writes the name of the user @uid, or the number if this machine has no name for it. Returns
 * @ret. */
const char *user_name(uint32_t uid, char ret[USER_NAME_BYTES]);

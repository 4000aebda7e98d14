/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Is a session complete? Summed from its database, so that nothing in memory can be forgotten.
 * Store thread.
 */
#include "collectord/writer.h"
#include "proto/completeness.h"

/* @session_id 0: of all sessions in the file. @is_live: not closed. database_errno(). */
int verdict_read(struct writer *writer, int64_t session_id, bool is_live, struct completeness *ret);

/* Puts the line, the verdict and "simulated" into rtl_meta. */
int verdict_save(struct writer *writer, const struct completeness *completeness);

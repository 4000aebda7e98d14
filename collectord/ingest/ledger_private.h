/* SPDX-License-Identifier: MIT */
#pragma once
/* What ledger.c (the books) and ledger_rows.c (their rows) share. Store thread. */
#include <stdbool.h>

#include "collectord/ingest/ledger.h"

/* rtl_loss.reason: the literals by which losses.c tells reasons apart. */
extern const char *const ledger_loss_name[LEDGER_LOSSES];
extern const char ledger_torn_name[];

/* A counter of dispatches, or of others, that were dropped. */
bool ledger_is_drop(const char *counter);

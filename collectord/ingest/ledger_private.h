/* SPDX-License-Identifier: MIT */
#pragma once
/* Shared by ledger.c (the ledger) and ledger_rows.c (its rows). Store thread. */
#include <stdbool.h>

#include "collectord/ingest/ledger.h"

/* Values of rtl_loss.reason. losses.c compares reasons by the address of these literals. */
extern const char *const ledger_loss_name[LEDGER_LOSSES];
extern const char ledger_torn_name[];

/* True for a counter of dropped dispatches or other dropped records. */
bool ledger_is_drop(const char *counter);

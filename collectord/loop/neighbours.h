/* SPDX-License-Identifier: MIT */
#pragma once
/* What the store of a tenant knows of the others': the ledger, and a word to the supervisor. */
struct seat;
struct store_neighbours;

/* @seat is borrowed, and outlives what becomes of @ret. */
void neighbours_of(const struct seat *seat, struct store_neighbours *ret);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Gives the store of one tenant its view of the other tenants: the ledger, and messages to the
 * supervisor. Loop thread.
 */
struct seat;
struct store_neighbours;

/* @seat is borrowed and must outlive @ret. */
void neighbours_of(const struct seat *seat, struct store_neighbours *ret);

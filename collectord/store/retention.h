/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Closed sessions go when they are too old, when their tenant has more than it may, when the store
 * has, or when who stores now finds too little room on the disk and that makes enough of it; whole,
 * oldest first, and of the tenants the one that has most: who has less than an equal share of what
 * may be kept loses nothing to others. A step costs by tenants, not by how much history they have.
 * Never an open one, one that is being read, or what is not ours. One goes at a time, between the
 * other things that the store does. Whoever holds up its own (removal.h) is left out until that
 * ends. Store thread.
 */
#include <stdbool.h>
#include <stdint.h>

struct retention;
struct store;
struct store_config;

/* For a store with an index and a folder: store->retention. -ENOMEM, or what realpath() says. */
int retention_new(struct store *store, const struct store_config *config);
void retention_free(struct retention *retention);

/* At the start, before anybody is let in: the index says where its files are now, what was going is
 * gone, and what went is told. What index_settle() says: then nothing goes until it has succeeded.
 */
int retention_recover(struct store *store);

/* The file @database of a session that the index says is open was taken away: it is among what
 * went, for nobody else would say that it has ended. False: it could not be, or it is written to
 * here. */
bool retention_take_gone(struct store *store, const char *database);

/* Nothing was ever stored in @database, which is open nowhere, and the index does not know it: it
 * goes, unless somebody reads it just now. */
void retention_drop_vacant(struct store *store, const char *database);

/* Look at once: a session was closed, or the disk is full. */
void retention_hurry(struct store *store);

/* What the tenant has, before anything else is done. */
void retention_tell_neighbours(struct store *store);

/* A session could not be opened for want of room: what is closed may make some. */
void retention_want_room(struct store *store);

/* Its files are being unlinked, which takes as long as its owner likes: nothing is made at @path.
 */
bool retention_is_going(const struct store *store, const char *path);

/* At most one session begins to go. */
void retention_step(struct store *store);

/* At the end: what is under way is waited for, a while. */
void retention_finish(struct store *store);

/* CLOCK_MONOTONIC; UINT64_MAX: never. */
uint64_t retention_next_ns(const struct store *store);

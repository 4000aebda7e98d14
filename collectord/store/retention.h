/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Removes closed sessions: if they are too old, if the tenant has more than it may, if the store
 * has, or if sessions that store now find too little room on the disk and a removal makes enough of
 * it. Sessions are removed whole, oldest first. For others, the tenant that has the most gives
 * back: the stores of a service see in the ledger what each tenant has, and ask that one. A tenant
 * that has less than an equal share of what may be kept loses nothing to others. A step costs time
 * by the number of tenants, not by the length of their history. Sessions that are open or being
 * read are never removed, nor those that their owner keeps, nor files that are not ours. One
 * removal runs at a time, between other work of the store. A user that delays one (removal.h)
 * delays the later ones of its own. Store thread.
 */
#include <stdbool.h>
#include <stdint.h>

struct command;
struct retention;
struct store;
struct store_config;
struct store_limits;

/* For a store with an index and a folder: sets store->retention. -ENOMEM, or the error of
 * realpath(). */
int retention_new(struct store *store, const struct store_config *config);
void retention_free(struct retention *retention);

/* Replaces the limits, and makes the next step a pass. */
void retention_limit(struct store *store, const struct store_limits *limits);

/* Called at the start, before any session is opened: the index learns where its files are now,
 * removals that were under way are finished, and finished ones are answered. The error of
 * index_settle(): nothing is removed until it has succeeded. */
int retention_recover(struct store *store);

/* Called if the file @database of a session that the index lists as open is gone: lists the session
 * as removed, since nothing else would record its end. False: that failed, or the file is written
 * to here. */
bool retention_take_gone(struct store *store, const char *database);

/* Removes @database, in which nothing was ever stored, which is open nowhere and which the index
 * does not list, unless another process reads it. */
void retention_drop_vacant(struct store *store, const char *database);

/* Makes the next step a pass: a session was closed, or the disk is full. */
void retention_hurry(struct store *store);

/* Publishes the sizes of the tenant's databases to the other tenants, before any other work. */
void retention_publish_sizes(struct store *store);

/* Called when a session could not be opened for want of room: removing closed ones may make
 * some. */
void retention_want_room(struct store *store);

/* Where the folders of its users lie; NULL: closed sessions are kept. */
const char *retention_folder(const struct store *store);

/* True if its files are being unlinked, which its owner can delay at will: no file is made at
 * @path. */
bool retention_is_removing(const struct store *store, const char *path);

/* Starts the removal of at most one session. */
void retention_step(struct store *store);

/* Runs a REMOVE, KEEP or RELEASE of the owner of a session, and answers it. */
void retention_dispose(struct store *store, const struct command *command);
/* Answers which sessions are kept by their owners. */
void retention_tell_kept(struct store *store);

/* Called at the end: waits a while for removals that are under way. */
void retention_finish(struct store *store);

/* CLOCK_MONOTONIC of the next step; UINT64_MAX: never. */
uint64_t retention_next_ns(const struct store *store);

/*
 * Answers once that the index cannot be read or written, without which nothing is removed, and
 * again when it can be written (@error is 0). Errors that pass by themselves are not reported.
 */
void retention_say_index(struct store *store, int error);

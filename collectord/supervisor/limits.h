/* SPDX-License-Identifier: MIT */
#pragma once
/* The limits of the processes of the service, each with its reason. */
#include "proto/base/limits.h"

/*
 * Number of workers at a time. Each is a process with two threads, and 256 of them fit in TasksMax=
 * of the unit. An idle worker is ended to make room.
 */
#define WORKERS_MAX	  256u
/* Number of workers started at a time without a connection that needs them. */
#define WORKERS_EARLY	  16u
/* A worker whose loop shows no sign of life for so long is killed. */
#define GIVE_UP_NS	  10000000000ull
/*
 * A worker that was killed or failed is restarted after RETRY_NS_MIN, doubled each time up to
 * RETRY_NS_MAX, unless it has lived for RETRY_NS_MAX. Connections wait for it, but are refused when
 * the delay exceeds REFUSE_NS.
 */
#define RETRY_NS_MIN	  20000000ull
#define RETRY_NS_MAX	  10000000000ull
#define REFUSE_NS	  1000000000ull
/* An acceptor that closes a connection for so long hangs, and another one takes its place. */
#define HANG_NS		  100000000ull
/* The acceptor in use and those that hang; each has a bit in a 64-bit word. */
#define ACCEPTORS_MAX	  64u
/*
 * Recorders kept for one tenant, and for all: a descriptor each of the supervisor, half of all that
 * it may have. Past the latter a tenant has no more than KEPT_LEAST.
 */
#define KEPT_TENANT_MAX	  (KEPT_RECORDERS_MAX / 2u)
#define KEPT_ALL_MAX	  8192u
#define KEPT_LEAST	  16u
/*
 * Of KEPT_RECORDERS_MAX that the service manager takes of all tenants so many go to those that have
 * no more than KEPT_PASSED_LEAST there.
 */
#define KEPT_PASSED_LEAST 2u
#define KEPT_PASSED_MAX	  (KEPT_RECORDERS_MAX - KEPT_PASSED_LEAST * WORKERS_MAX)
/*
 * Where sessions are removed by age, a worker is started so often for each tenant that has closed
 * ones and no worker: it removes them.
 */
#define AGES_NS		  86400000000000ull
/*
 * Workers that have not ended so long after SIGTERM are killed. The index writer then has the
 * second time for what the other ones said, so that the service ends within 5 s.
 */
#define STOP_NS		  3000000000ull
#define STOP_INDEX_NS	  1000000000ull
/* The index writer is restarted after this time at the earliest. */
#define INDEXER_RETRY_NS  1000000000ull
/* Messages read from one process before the others get their turn. */
#define MESSAGES_AT_ONCE  64u

/* ---- the acceptor ------------------------------------------------------------------------ */

/* Connections accepted before the acceptor reads messages of the supervisor. */
#define BATCH		64u
/* Connections of one tenant that may wait because its worker empties the door too slowly. */
#define PENDING_MAX	1024u
/*
 * Connections of all tenants that may wait, so that descriptors are left to accept with; of each
 * tenant some always may, whatever wait for the others.
 */
#define PENDING_ALL_MAX 4096u
#define PENDING_LEAST	16u
/*
 * Connections whose close may hang are closed together: when there are so many, or after this time.
 */
#define UNWANTED_MAX	1024u
#define UNWANTED_NS	1000000000ull
/* Larger than almost any first message. */
#define PEEK_BYTES	4096u
/* Time until accepting is retried after descriptors or memory ran out. */
#define PAUSE_MS	100

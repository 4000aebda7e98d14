/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * How a session database, and the index of a store, say what they are: the daemon sets both pragmas
 * in the transaction that creates the schema, the cli checks them before it reads anything else.
 */

/* PRAGMA application_id, "RTLd". A SQLite file has 0 unless a program set it. */
#define SCHEMA_APPLICATION_ID	    0x52544c64
/* PRAGMA user_version: the number of the last collectord/db/schema/NNNN_*.sql. */
#define SCHEMA_VERSION		    18
/* Of index.db: application id "RTLi", and the last migration in collectord/catalog/index.c. */
#define SCHEMA_INDEX_APPLICATION_ID 0x52544c69
#define SCHEMA_INDEX_VERSION	    3

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Holds what the tables store only once: texts, kernels (symbol -> demangled name) and shapes, with
 * their row ids. It mirrors the database and is rebuilt from it after a ROLLBACK or a re-open.
 * Store thread; belongs to one connection.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "collectord/db/rows/quota.h"
#include "collectord/db/rows/statements.h"

/* The name that is stored in place of names past SESSION_NAMES_MAX or past the quota of the
 * user. */
#define INTERN_OVERFLOW "<name-overflow>"

/* A row of rtl_shape. Compared as bytes, so it has no padding. */
struct intern_shape_key {
	int64_t process_id;
	int64_t kernel_id;
	uint32_t gpu_id;
	uint32_t queue;
	uint32_t workgroup[3];
	uint32_t grid[3];
	uint32_t lds;
	uint32_t scratch;
};
static_assert(sizeof(struct intern_shape_key) == 56, "compared as bytes");

/* Number of traced host functions: HIP's, then RCCL's. */
#define INTERN_APIS_MAX 512u

struct intern {
	struct statements *statements; /* borrowed */
	sqlite3 *db;		       /* borrowed */
	struct feed *feed;	       /* borrowed */
	struct intern_text *texts;
	struct intern_text *kernels;	     /* by symbol */
	struct intern_process *processes;    /* each with its shapes */
	struct intern_process *last_process; /* found last; NULL: none */
	int64_t last_shape;		     /* the greatest id so far */
	unsigned names;			     /* texts and kernels, in parts of NAME_PART_BYTES */
	unsigned stopped;    /* symbols that took too long to be demangled (text_demangle()) */
	struct quota *quota; /* borrowed: of its database */
	struct quota_account *account; /* is charged for the memory; NULL: no account */
	uint64_t charged;
	uint64_t overflowed;	       /* uses of INTERN_OVERFLOW since intern_take_overflowed() */
	int64_t apis[INTERN_APIS_MAX]; /* row ids; 0: not looked up yet */
};

/* Empties the mirror and reads it from the database, which must hold every row that the mirror
 * should have. -ENOMEM, -EUCLEAN, or as database_errno(). */
int intern_load(struct intern *intern);
void intern_done(struct intern *intern);

/* Charges @account from now on, also for what the mirror holds already. */
void intern_set_account(struct intern *intern, struct quota_account *account);

/* Returns how many names were not kept since the last call. */
uint64_t intern_take_overflowed(struct intern *intern);

/* Drops the shapes of a process that has ended: the database has them, and no look-up follows. */
void intern_forget_process(struct intern *intern, int64_t process_id);

/* Look up row ids and insert a row on first sight. Shapes are inserted with the next rows
 * (row_feed.h), and the mirror knows only the shapes that intern_load() read or that
 * intern_keep_shape() added: the caller keeps the id of any other shape. Texts must be clean
 * (text_clean()). -ENOMEM, or database_errno(). */
int intern_put_text(struct intern *intern, const char *text, int64_t *ret_id);
int intern_put_kernel(struct intern *intern, const char *symbol, int64_t *ret_id);
int intern_put_api(struct intern *intern, uint32_t api, const char *name, const char *arguments,
	int64_t *ret_id); /* @api: below INTERN_APIS_MAX, always with the same name */
int intern_put_shape(struct intern *intern, const struct intern_shape_key *key, int64_t *ret_id);

/* Adds a shape to the mirror, so that it is found again. -ENOMEM. */
int intern_keep_shape(struct intern *intern, const struct intern_shape_key *key, int64_t id);

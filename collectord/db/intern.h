/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What the tables hold only once: texts, kernels (symbol -> demangled name) and shapes, with
 * their row ids. A mirror of the database, rebuilt from it after a ROLLBACK or a re-open.
 * Store thread; belongs to one connection.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "collectord/db/quota.h"
#include "collectord/db/statements.h"

/* What names past SESSION_NAMES_MAX, or past what their user may have, become. */
#define INTERN_OVERFLOW "<name-overflow>"

/* A row of rtl_shape; no padding, it is compared as bytes. */
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

/* Functions of the host's tables: HIP's, then RCCL's. */
#define INTERN_APIS_MAX 512u

struct intern {
	struct statements *statements; /* borrowed */
	sqlite3 *db;		       /* borrowed */
	struct feed *feed;	       /* borrowed */
	struct intern_text *texts;
	struct intern_text *kernels; /* by symbol */
	struct intern_process *processes; /* each with its shapes */
	struct intern_process *last_process; /* that was asked for; NULL: it went */
	int64_t last_shape;		  /* that has an id */
	unsigned names;   /* texts and kernels, in parts of NAME_PART_BYTES */
	unsigned stopped; /* symbols that took too long to be demangled (text_demangle()) */
	struct quota *quota;	       /* borrowed: of its database */
	struct quota_account *account; /* who pays for the memory; NULL: nobody */
	uint64_t charged;
	uint64_t overflowed; /* uses of INTERN_OVERFLOW since that was last asked */
	int64_t apis[INTERN_APIS_MAX]; /* row ids; 0: not asked for yet */
};

/* Empties the mirror and reads it from the database, in which all is that was put or that is
 * meant. -ENOMEM, -EUCLEAN, or as database_errno(). */
int intern_load(struct intern *intern);
void intern_done(struct intern *intern);

/* From now on @account pays, also for what is here already. */
void intern_set_account(struct intern *intern, struct quota_account *account);

/* How many names were not kept since the last call. */
uint64_t intern_take_overflowed(struct intern *intern);

/* It has ended: its shapes are in the database, and nobody asks for them again. */
void intern_forget_process(struct intern *intern, int64_t process_id);

/* Row ids, inserted on first sight; shapes with the next rows (row_feed.h), and of those only what
 * the database had when it was read, or intern_keep_shape() was told, has been seen: who asks keeps
 * the id itself. Texts are clean (text_clean()). -ENOMEM, or database_errno(). */
int intern_put_text(struct intern *intern, const char *text, int64_t *ret_id);
int intern_put_kernel(struct intern *intern, const char *symbol, int64_t *ret_id);
int intern_put_api(struct intern *intern, uint32_t api, const char *name, const char *arguments,
	int64_t *ret_id); /* @api: below INTERN_APIS_MAX, always of the same name */
int intern_put_shape(struct intern *intern, const struct intern_shape_key *key, int64_t *ret_id);

/* For the case that it is asked for again. -ENOMEM. */
int intern_keep_shape(struct intern *intern, const struct intern_shape_key *key, int64_t id);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The definitions of a process: strings, symbols and shapes by their wire ids, with their row ids.
 * The ids come from an untrusted process, so their number and their bytes are bounded. Row ids are
 * found on first use and forgotten after a ROLLBACK; the definitions stay. Store thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "collectord/db/rows/intern.h"
#include "proto/wire/rtl.pb-c.h"

struct ledger_queue;

struct define_text {
	char *text; /* valid UTF-8; NULL: not defined */
	int64_t text_id;
};

struct define_symbol {
	bool is_defined;
	bool has_name;
	uint32_t name; /* id of a string */
	uint64_t kernel_object;
	int64_t kernel_id;
};

/*
 * The fields that each dispatch needs come first: with hundreds of ranks no cache holds all shapes,
 * so cache lines count.
 */
struct define_shape {
	int64_t shape_id;
	struct ledger_queue *books; /* of its queue; set together with shape_id */
	bool is_defined;
	uint32_t gpu; /* index in Hello.gpus */
	uint32_t queue;
	uint32_t symbol; /* 0: unknown */
	uint32_t workgroup[3];
	uint32_t grid[3];
	uint32_t lds;
	uint32_t scratch;
};

struct defines {
	struct quota_account *account; /* the account that is charged for memory; NULL: none */
	uint64_t charged;
	uint64_t left_out; /* names replaced since defines_take_left_out() */
	struct define_text *texts;
	struct define_symbol *symbols;
	struct define_shape *shapes;
	uint32_t text_count; /* capacity, not the number in use */
	uint32_t symbol_count;
	uint32_t shape_count;
	size_t bytes; /* total length of the texts */
};

void defines_done(struct defines *defines);

/*
 * Takes a frame of definitions; what is defined already does not change. @gpus is the number in the
 * Hello. Returns 0; -ENOMEM; -EBADMSG: an id, a queue or a GPU is out of range, or there is too
 * much text; -EDQUOT: the memory quota of the user is exceeded.
 */
int defines_take(struct defines *defines, const Rtl__Defines *frame, unsigned gpus);

/* Returns the number of names that were replaced since the last call. */
uint64_t defines_take_left_out(struct defines *defines);

/* Forgets all row ids, which are no longer valid. */
void defines_forget_rows(struct defines *defines);

/* Returns the shape @id, or NULL. */
static inline struct define_shape *defines_shape(struct defines *defines, uint32_t id)
{
	if (id >= defines->shape_count || !defines->shapes[id].is_defined)
		return NULL;
	return &defines->shapes[id];
}

/* Returns the text of a string id, as valid UTF-8; NULL if it is not defined. */
const char *defines_text(struct defines *defines, uint32_t id);

/* Returns 0, -ENOENT if it is not defined, or an error of intern_put_text(). */
int defines_text_row(struct defines *defines, struct intern *intern, uint32_t id, int64_t *ret_id);

/*
 * Returns the row of a kernel. For @id 0 or a symbol without a name it is kernel@0x with the
 * address of its object, or of @kernel_object; without any object, <unknown kernel>. Errors as
 * intern_put_kernel().
 */
int defines_kernel_row(struct defines *defines, struct intern *intern, uint32_t id,
	uint64_t kernel_object, int64_t *ret_id);

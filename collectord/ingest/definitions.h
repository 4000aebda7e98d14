/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What a process has defined: strings, symbols, shapes by their wire ids, and the row ids they
 * got. Ids come from strangers: bounded in number and in bytes. Row ids are found on first use
 * and forgotten after a ROLLBACK; the definitions themselves stay. Store thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "collectord/db/intern.h"
#include "proto/wire/rtl.pb-c.h"

struct ledger_queue;

struct define_text {
	char *text; /* clean; NULL: not defined */
	int64_t text_id;
};

struct define_symbol {
	bool is_defined;
	bool has_name;
	uint32_t name; /* id of a string */
	uint64_t kernel_object;
	int64_t kernel_id;
};

/* What each dispatch asks for is first: of hundreds of ranks no cache holds all, so lines count. */
struct define_shape {
	int64_t shape_id;
	struct ledger_queue *books; /* of its queue; found with shape_id */
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
	struct quota_account *account; /* who pays for the memory; NULL: nobody */
	uint64_t charged;
	uint64_t left_out; /* names, since that was last asked */
	struct define_text *texts;
	struct define_symbol *symbols;
	struct define_shape *shapes;
	uint32_t text_count; /* room, not number */
	uint32_t symbol_count;
	uint32_t shape_count;
	size_t bytes; /* of texts */
};

void defines_done(struct defines *defines);

/*
 * Takes a frame of definitions; what is known already stays as it is. @gpus: of the Hello.
 * 0; -ENOMEM; -EBADMSG: an id, a queue or a GPU out of bounds, or too much text; -EDQUOT: more than
 * its user may have.
 */
int defines_take(struct defines *defines, const Rtl__Defines *frame, unsigned gpus);

/* How many names were not kept since the last call. */
uint64_t defines_take_left_out(struct defines *defines);

/* Row ids are no longer true. */
void defines_forget_rows(struct defines *defines);

/* The definition, or NULL. */
static inline struct define_shape *defines_shape(struct defines *defines, uint32_t id)
{
	if (id >= defines->shape_count || !defines->shapes[id].is_defined)
		return NULL;
	return &defines->shapes[id];
}

/* The text of a string id, clean; NULL: not defined. */
const char *defines_text(struct defines *defines, uint32_t id);

/* 0; -ENOENT: not defined; or as intern_put_text(). */
int defines_text_row(struct defines *defines, struct intern *intern, uint32_t id, int64_t *ret_id);

/*
 * The kernel's row. @id 0 or a symbol without a name: kernel@0x of its object, or of
 * @kernel_object; with no object either: <unknown kernel>. As intern_put_kernel().
 */
int defines_kernel_row(struct defines *defines, struct intern *intern, uint32_t id,
	uint64_t kernel_object, int64_t *ret_id);

/* SPDX-License-Identifier: MIT */
#include "collectord/ingest/process/definitions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectord/db/rows/text.h"
#include "proto/base/limits.h"

#define UNKNOWN_KERNEL "<unknown kernel>"
#define ROOM_MIN       64u

/* Replaces each name that exceeds the memory quota. */
static char overflow[] = INTERN_OVERFLOW;

void defines_done(struct defines *defines)
{
	for (uint32_t i = 0; i < defines->text_count; i++)
		if (defines->texts[i].text != overflow)
			free(defines->texts[i].text);
	free(defines->texts);
	free(defines->symbols);
	free(defines->shapes);
	quota_charge(defines->account, -(int64_t)defines->charged);
	*defines = (struct defines){0};
}

static void charge(struct defines *defines, size_t bytes)
{
	defines->charged += bytes;
	quota_charge(defines->account, (int64_t)bytes);
}

uint64_t defines_take_left_out(struct defines *defines)
{
	uint64_t count = defines->left_out;

	defines->left_out = 0;
	return count;
}

/* Makes room for index @id in a table of *@count zeroed elements. */
static int make_room(struct defines *defines, void **table, uint32_t *count, size_t bytes,
	uint32_t id, uint32_t max)
{
	uint32_t want = *count ? *count : ROOM_MIN;
	char *grown;

	if (id >= max)
		return -EBADMSG;
	if (id < *count)
		return 0;
	while (want <= id)
		want *= 2;
	if (!quota_has_memory(defines->account, (want - *count) * bytes, QUOTA_TABLES))
		return -EDQUOT;
	grown = realloc(*table, want * bytes);
	if (!grown)
		return -ENOMEM;
	charge(defines, (want - *count) * bytes);
	memset(grown + *count * bytes, 0, (want - *count) * bytes);
	*table = grown;
	*count = want;
	return 0;
}

static int take_text(struct defines *defines, const Rtl__StringDef *def)
{
	struct define_text *text;
	int r = make_room(defines, (void **)&defines->texts, &defines->text_count, sizeof(*text), def->id,
		PROCESS_STRINGS_MAX);

	if (r < 0)
		return r;
	text = &defines->texts[def->id];
	if (text->text)
		return 0;
	/* The define log of the recorder holds no more than this. */
	if (defines->bytes + def->text.len > RECORDER_DEFINE_BYTES)
		return -EBADMSG;
	defines->bytes += def->text.len;
	/* Invalid UTF-8 may become three times as long. */
	if (!quota_has_memory(defines->account, 3 * def->text.len + 1, QUOTA_NAMES)) {
		text->text = overflow;
		defines->left_out++;
		return 0;
	}
	text->text = text_clean(def->text.data, def->text.len, SYMBOL_BYTES_MAX);
	if (!text->text)
		return -ENOMEM;
	charge(defines, strlen(text->text) + 1);
	return 0;
}

static int take_symbol(struct defines *defines, const Rtl__SymbolDef *def)
{
	struct define_symbol *symbol;
	int r = make_room(defines, (void **)&defines->symbols, &defines->symbol_count, sizeof(*symbol),
		def->id, PROCESS_SYMBOLS_MAX);

	if (r < 0)
		return r;
	symbol = &defines->symbols[def->id];
	if (symbol->is_defined)
		return 0;
	*symbol = (struct define_symbol){
		.is_defined = true,
		.has_name = def->has_name,
		.name = def->name,
		.kernel_object = def->kernel_object,
	};
	return 0;
}

static int take_shape(struct defines *defines, const Rtl__ShapeDef *def, unsigned gpus)
{
	struct define_shape *shape;
	int r;

	if (def->gpu >= gpus || def->queue >= RECORDER_QUEUES)
		return -EBADMSG;
	r = make_room(defines, (void **)&defines->shapes, &defines->shape_count, sizeof(*shape), def->id,
		PROCESS_SHAPES_MAX);
	if (r < 0)
		return r;
	shape = &defines->shapes[def->id];
	if (shape->is_defined)
		return 0;
	*shape = (struct define_shape){
		.is_defined = true,
		.gpu = def->gpu,
		.queue = def->queue,
		.symbol = def->symbol,
		.lds = def->lds,
		.scratch = def->scratch,
	};
	for (int i = 0; i < 3; i++) {
		shape->workgroup[i] = def->workgroup[i];
		shape->grid[i] = def->grid[i];
	}
	return 0;
}

int defines_take(struct defines *defines, const Rtl__Defines *frame, unsigned gpus)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < frame->n_strings; i++)
		r = take_text(defines, frame->strings[i]);
	for (size_t i = 0; r == 0 && i < frame->n_symbols; i++)
		r = take_symbol(defines, frame->symbols[i]);
	for (size_t i = 0; r == 0 && i < frame->n_shapes; i++)
		r = take_shape(defines, frame->shapes[i], gpus);
	return r;
}

void defines_forget_rows(struct defines *defines)
{
	for (uint32_t i = 0; i < defines->text_count; i++)
		defines->texts[i].text_id = 0;
	for (uint32_t i = 0; i < defines->symbol_count; i++)
		defines->symbols[i].kernel_id = 0;
	for (uint32_t i = 0; i < defines->shape_count; i++) {
		defines->shapes[i].shape_id = 0;
		defines->shapes[i].books = NULL;
	}
}

static struct define_text *find_text(struct defines *defines, uint32_t id)
{
	if (id >= defines->text_count || !defines->texts[id].text)
		return NULL;
	return &defines->texts[id];
}

const char *defines_text(struct defines *defines, uint32_t id)
{
	struct define_text *text = find_text(defines, id);

	return text ? text->text : NULL;
}

int defines_text_row(struct defines *defines, struct intern *intern, uint32_t id, int64_t *ret_id)
{
	struct define_text *text = find_text(defines, id);
	int r;

	if (!text)
		return -ENOENT;
	if (!text->text_id) {
		r = intern_put_text(intern, text->text, &text->text_id);
		if (r < 0)
			return r;
	}
	*ret_id = text->text_id;
	return 0;
}

static int unnamed_kernel_row(struct intern *intern, uint64_t kernel_object, int64_t *ret_id)
{
	char name[32];

	if (!kernel_object)
		return intern_put_kernel(intern, UNKNOWN_KERNEL, ret_id);
	snprintf(name, sizeof(name), "kernel@0x%" PRIx64, kernel_object);
	return intern_put_kernel(intern, name, ret_id);
}

int defines_kernel_row(struct defines *defines, struct intern *intern, uint32_t id,
	uint64_t kernel_object, int64_t *ret_id)
{
	struct define_symbol *symbol = NULL;
	struct define_text *text = NULL;
	int r;

	if (id < defines->symbol_count && defines->symbols[id].is_defined)
		symbol = &defines->symbols[id];
	if (!symbol)
		return unnamed_kernel_row(intern, kernel_object, ret_id);
	if (!symbol->kernel_id) {
		text = symbol->has_name ? find_text(defines, symbol->name) : NULL;
		if (text)
			r = intern_put_kernel(intern, text->text, &symbol->kernel_id);
		else
			r = unnamed_kernel_row(intern, symbol->kernel_object, &symbol->kernel_id);
		if (r < 0)
			return r;
	}
	*ret_id = symbol->kernel_id;
	return 0;
}

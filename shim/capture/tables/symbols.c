/* SPDX-License-Identifier: MIT */
#include "shim/capture/tables/symbols.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/cleanup.h"
#include "proto/wire/msg.h"
#include "shim/base/gate.h"

/* One entry in eight stays free, so that a search for an unknown address ends. */
#define SYMBOLS_USED_MAX (SYMBOLS_CAPACITY / 8 * 7)

#define SYMBOL_TYPE_KERNEL	1
#define ATTRIBUTE_KERNEL_OBJECT 22

struct visit {
	struct symbols *symbols;
	const struct hsa_table *table;
	bool is_removal;
};

void symbols_init(struct symbols *symbols, struct recorder *recorder, struct strings *strings)
{
	if (symbols->used)
		memset(symbols->entry, 0, sizeof(symbols->entry));
	pthread_mutex_init(&symbols->lock, NULL);
	symbols->recorder = recorder;
	symbols->strings = strings;
	symbols->used = 0;
	symbols->last_id = 0;
	symbols->overflow_id = 0;
}

/* @string 0 defines a symbol without a name. Returns 0 or the error of recorder_define(). */
static int symbol_define(
	struct symbols *symbols, uint32_t id, uint32_t string, uint64_t kernel_object, unsigned how)
{
	Rtl__SymbolDef definition = RTL__SYMBOL_DEF__INIT;
	Rtl__SymbolDef *list[] = {&definition};
	Rtl__Defines defines = RTL__DEFINES__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;
	uint8_t packed[64]; /* three varints and their tags */

	definition.has_id = 1;
	definition.id = id;
	definition.has_name = string != 0;
	definition.name = string;
	definition.has_kernel_object = 1;
	definition.kernel_object = kernel_object;
	defines.symbols = list;
	defines.n_symbols = 1;
	frame.body_case = RTL__FRAME__BODY_DEFINES;
	frame.defines = &defines;
	if (msg_packed_bytes(&frame) > sizeof(packed))
		return -EMSGSIZE;
	return recorder_define(symbols->recorder, packed, msg_pack(&frame, packed), how);
}

static uint32_t overflow_take(struct symbols *symbols)
{
	static const char text[] = "<name-overflow>";

	recorder_count(symbols->recorder, RTL_P_names_overflowed, 1);
	if (!symbols->overflow_id &&
		!symbol_define(symbols, symbols->last_id + 1,
			strings_intern(symbols->strings, text, sizeof(text) - 1), 0,
			RECORDER_DEFINE_LAST))
		symbols->overflow_id = ++symbols->last_id;
	return symbols->overflow_id;
}

/* A new id for (@string, @kernel_object), or the overflow's id if there is no room. */
static uint32_t id_take(struct symbols *symbols, uint32_t string, uint64_t kernel_object)
{
	if (symbols->last_id + 1 >= PROCESS_SYMBOLS_MAX ||
		symbol_define(
			symbols, symbols->last_id + 1, string, kernel_object, RECORDER_DEFINE_WAIT))
		return overflow_take(symbols);
	recorder_count(symbols->recorder, RTL_P_symbols_defined, 1);
	return ++symbols->last_id;
}

/* Returns NULL if it is not there, and with @create if there is no room. */
static struct symbol_entry *entry_find(struct symbols *symbols, uint64_t kernel_object, bool create)
{
	uint32_t at = symbols_slot(kernel_object, SYMBOLS_CAPACITY - 1);

	for (;;) {
		struct symbol_entry *entry = &symbols->entry[at];
		uint64_t key = atomic_load_explicit(&entry->kernel_object, memory_order_relaxed);

		if (key == kernel_object)
			return entry;
		if (!key) {
			if (!create || symbols->used == SYMBOLS_USED_MAX)
				return NULL;
			return entry;
		}
		at = (at + 1) & (SYMBOLS_CAPACITY - 1);
	}
}

/* From here on readers may find the entry. */
static void entry_publish(
	struct symbols *symbols, struct symbol_entry *entry, uint64_t kernel_object)
{
	if (atomic_load_explicit(&entry->kernel_object, memory_order_relaxed))
		return;
	symbols->used++;
	atomic_store_explicit(&entry->kernel_object, kernel_object, memory_order_release);
}

/* @mark is SYMBOL_UNWANTED or 0; stored with the id, which a dispatch reads anyway. */
static void entry_set(
	struct symbols *symbols, uint64_t kernel_object, uint32_t string, uint32_t mark)
{
	struct symbol_entry *entry = entry_find(symbols, kernel_object, true);

	if (!entry) {
		recorder_count(symbols->recorder, RTL_P_names_overflowed, 1);
		return;
	}
	/* The same kernel loaded to the same address again is the same symbol. */
	if (!entry->last_id || entry->string != string)
		entry->last_id = id_take(symbols, string, kernel_object);
	entry->string = string;
	atomic_store_explicit(&entry->id, entry->last_id | mark, memory_order_release);
	entry_publish(symbols, entry, kernel_object);
}

void symbols_add(struct symbols *symbols, uint64_t kernel_object, const char *name, size_t bytes)
{
	if (!kernel_object)
		return;
	pthread_mutex_lock(&symbols->lock);
	entry_set(symbols, kernel_object, strings_intern(symbols->strings, name, bytes),
		gate_wants_kernel(name, bytes) ? 0 : SYMBOL_UNWANTED);
	pthread_mutex_unlock(&symbols->lock);
}

void symbols_remove(struct symbols *symbols, uint64_t kernel_object)
{
	struct symbol_entry *entry;

	if (!kernel_object)
		return;
	pthread_mutex_lock(&symbols->lock);
	entry = entry_find(symbols, kernel_object, false);
	if (entry)
		atomic_store_explicit(&entry->id, 0, memory_order_release);
	pthread_mutex_unlock(&symbols->lock);
}

uint32_t symbols_define_unknown(struct symbols *symbols, uint64_t kernel_object)
{
	struct symbol_entry *entry;
	uint32_t id;

	pthread_mutex_lock(&symbols->lock);
	/* Kept apart from the entry's id, which is for kernels with a name. */
	entry = kernel_object ? entry_find(symbols, kernel_object, true) : NULL;
	if (!entry) {
		id = overflow_take(symbols);
	} else {
		if (!entry->unknown_id)
			entry->unknown_id = id_take(symbols, 0, kernel_object);
		id = entry->unknown_id;
		entry_publish(symbols, entry, kernel_object);
	}
	pthread_mutex_unlock(&symbols->lock);
	return id;
}

static void symbol_visit(struct visit *visit, hsa_executable_symbol_t symbol)
{
	__typeof__(hsa_executable_symbol_get_info) *ask =
		visit->table->real.hsa_executable_symbol_get_info;
	CLEANUP(free_p) char *name = NULL;
	uint64_t kernel_object = 0;
	uint32_t bytes = 0;
	uint32_t type = 0;

	if (ask(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &type) || type != SYMBOL_TYPE_KERNEL ||
		ask(symbol, (hsa_executable_symbol_info_t)ATTRIBUTE_KERNEL_OBJECT, &kernel_object))
		return;
	if (visit->is_removal) {
		symbols_remove(visit->symbols, kernel_object);
		return;
	}
	if (ask(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH, &bytes) || !bytes)
		return;
	name = calloc(1, (size_t)bytes + 1);
	if (!name || ask(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME, name))
		return;
	symbols_add(visit->symbols, kernel_object, name, bytes);
}

static hsa_status_t agent_symbol_visit(
	hsa_executable_t executable, hsa_agent_t agent, hsa_executable_symbol_t symbol, void *data)
{
	(void)executable;
	(void)agent;
	symbol_visit(data, symbol);
	return HSA_STATUS_SUCCESS;
}

/* Per agent, because the same kernel has another address on each. */
static void executable_visit(
	struct visit *visit, const struct agents *agents, hsa_executable_t executable)
{
	for (uint32_t i = 0; i < agents->count; i++)
		visit->table->real.hsa_executable_iterate_agent_symbols(
			executable, agents->gpu[i].handle, agent_symbol_visit, visit);
}

void symbols_add_executable(struct symbols *symbols, const struct hsa_table *table,
	const struct agents *agents, hsa_executable_t executable)
{
	struct visit visit = {.symbols = symbols, .table = table};

	executable_visit(&visit, agents, executable);
}

void symbols_remove_executable(struct symbols *symbols, const struct hsa_table *table,
	const struct agents *agents, hsa_executable_t executable)
{
	struct visit visit = {.symbols = symbols, .table = table, .is_removal = true};

	executable_visit(&visit, agents, executable);
}

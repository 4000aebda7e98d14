// SPDX-License-Identifier: MIT
#include "cli/export/rows/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "cli/base/escape.h"
#include "cli/base/wrapping.h"
#include "cli/output/table.h"
#include "proto/base/cleanup.h"

/* The schema versions that introduced categories and imports. */
#define SCHEMA_CATEGORIES 8
#define SCHEMA_IMPORTS	  14

/* A process id shifted by 40 bits stays below 2^63. */
#define PROCESS_IDS_MAX ((int64_t)1 << 22)

#define REPLACEMENT "\xef\xbf\xbd"

/* ---- texts ---------------------------------------------------------------------------------- */

char *export_clean(const char *text)
{
	const unsigned char *at = (const unsigned char *)(text ? text : "");
	size_t left = strlen((const char *)at), fill = 0;
	char *ret = malloc(left * (sizeof(REPLACEMENT) - 1) + 1);

	while (ret && left) {
		uint32_t code;
		size_t taken = escape_decode(at, left, &code);

		if (taken) {
			memcpy(ret + fill, at, taken);
			fill += taken;
		} else {
			memcpy(ret + fill, REPLACEMENT, sizeof(REPLACEMENT) - 1);
			fill += sizeof(REPLACEMENT) - 1;
		}
		taken += !taken;
		at += taken;
		left -= taken;
	}
	if (ret)
		ret[fill] = '\0';
	return ret;
}

char *export_json(const char *text)
{
	json_t *value = render_json_text(text ? text : "", text ? strlen(text) : 0);
	char *json = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;

	json_decref(value);
	return json;
}

/* ---- what the database has ------------------------------------------------------------------ */

static int load_session(struct export_source *source)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	int r = query_ask(source->query, "sessions", &rows);

	if (!r)
		r = query_next(rows);
	if (r < 0)
		return r;
	source->session = export_clean(r ? query_text(rows, 0) : NULL);
	source->command = export_clean(r ? query_text(rows, 3) : NULL);
	source->host = export_clean(r ? query_text(rows, 4) : NULL);
	if (!source->session || !source->command || !source->host)
		return -ENOMEM;
	if (!r)
		return 0;
	source->start_ns = query_integer(rows, 5);
	source->start_realtime_ns = query_integer(rows, 6);
	source->end_ns = query_is_null(rows, 7) ? source->start_ns : query_integer(rows, 7);
	return 0;
}

static size_t find_node(struct export_source *source, const char *boot_id, int64_t pid)
{
	size_t after = 0, found = source->node_count;

	for (size_t i = 0; i < source->process_count; i++) {
		const struct export_process *p = source->processes + i;

		if (p->pid == pid && p->node >= after && !strcmp(p->boot_id, boot_id))
			after = p->node + 1;
	}
	for (size_t i = 0; i < source->process_count; i++) {
		const struct export_process *p = source->processes + i;

		if (p->node >= after && p->node < found && !strcmp(p->boot_id, boot_id))
			found = p->node;
	}
	source->node_count += found == source->node_count;
	return found;
}

static int add_process(struct export_source *source, const struct query_rows *row)
{
	struct export_process *grown =
		grow_by_one(source->processes, source->process_count, sizeof(*grown));
	struct export_process *process;
	uint32_t *at;

	if (!grown)
		return -ENOMEM;
	source->processes = grown;
	at = idmap_at(&source->process_index, query_integer(row, 0));
	process = grown + source->process_count;
	*process = (struct export_process){
		.index = source->process_count,
		.id = query_integer(row, 0),
		.rank = query_integer(row, 1),
		.has_rank = !query_is_null(row, 1),
		.world_size = query_integer(row, 2),
		.has_world_size = !query_is_null(row, 2),
		.pid = query_integer(row, 3),
		.start_ns = query_integer(row, 4),
		.end_ns = query_integer(row, 5),
		.has_end = !query_is_null(row, 5),
		.host = export_clean(query_text(row, 6)),
		.boot_id = export_clean(query_text(row, 7)),
		.exe = export_clean(query_text(row, 8)),
		.command = export_clean(query_text(row, 9)),
	};
	if (at)
		*at = (uint32_t)source->process_count;
	if (process->boot_id)
		process->node = find_node(source, process->boot_id, process->pid);
	source->process_count++;
	return at && process->host && process->boot_id && process->exe && process->command
		       ? 0
		       : -ENOMEM;
}

/* Sets the end that the collector saw. In older files the last kernel stands for it. */
static int set_end(struct export_source *source, const struct query_rows *row)
{
	uint32_t at = idmap_find(&source->process_index, query_integer(row, 0));

	if (at == IDMAP_NONE || query_is_null(row, 1))
		return 0;
	source->processes[at].end_ns = query_integer(row, 1);
	source->processes[at].has_end = true;
	return 0;
}

static int add_gpu(struct export_source *source, const struct query_rows *row)
{
	struct export_gpu *grown = grow_by_one(source->gpus, source->gpu_count, sizeof(*grown));
	struct export_gpu *gpu;
	uint32_t *at;

	if (!grown)
		return -ENOMEM;
	source->gpus = grown;
	at = idmap_at(&source->gpu_index, query_integer(row, 0));
	gpu = grown + source->gpu_count;
	*gpu = (struct export_gpu){
		.id = query_integer(row, 0),
		.kfd_node = query_integer(row, 1),
		.has_node = !query_is_null(row, 1),
		.bdf = export_clean(query_text(row, 4)),
		.unique_id = export_clean(query_text(row, 5)),
		.gfx = export_clean(query_text(row, 7)),
		.name = export_clean(query_text(row, 8)),
	};
	if (at)
		*at = (uint32_t)source->gpu_count;
	source->gpu_count++;
	return at && gpu->bdf && gpu->unique_id && gpu->gfx && gpu->name ? 0 : -ENOMEM;
}

static int add_name(struct export_names *names, const struct query_rows *row, bool has_symbol,
	const char *otherwise)
{
	struct export_name *grown = grow_by_one(names->items, names->count, sizeof(*grown));
	const char *text = query_text(row, 1);
	struct export_name *name;
	uint32_t *at;

	if (!grown)
		return -ENOMEM;
	names->items = grown;
	at = idmap_at(&names->index, query_integer(row, 0));
	name = grown + names->count;
	*name = (struct export_name){
		.id = query_integer(row, 0),
		.text = export_clean(text ? text : otherwise),
		.json = export_json(text ? text : otherwise),
		.symbol = export_clean(has_symbol ? query_text(row, 2) : NULL),
	};
	if (at)
		*at = (uint32_t)names->count;
	names->count++;
	return at && name->text && name->json && name->symbol ? 0 : -ENOMEM;
}

static int add_kernel(struct export_source *source, const struct query_rows *row)
{
	return add_name(&source->kernels, row, true, "kernel");
}

static int add_function(struct export_source *source, const struct query_rows *row)
{
	return add_name(&source->functions, row, false, "call");
}

static int mark_communication(struct export_source *source, const struct query_rows *row)
{
	uint32_t at = idmap_find(&source->kernels.index, query_integer(row, 0));

	if (at != IDMAP_NONE)
		source->kernels.items[at].is_communication = true;
	return 0;
}

static int load(struct export_source *source, const char *question,
	int (*add)(struct export_source *source, const struct query_rows *row))
{
	int r = 0;

	QUERY_EACH (r, source->query, question, rows)
		r = add(source, rows);
	return r;
}

int export_source_load(struct query *query, const struct verdict *verdict,
	const struct export_options *options, struct export_source *ret)
{
	int64_t dispatches = 0;
	int r;

	*ret = (struct export_source){.query = query, .verdict = verdict, .options = options};
	r = load_session(ret);
	if (!r)
		r = load(ret, "export_processes", add_process);
	if (!r)
		r = load(ret, "process_ends", set_end);
	if (!r)
		r = load(ret, query_schema(query) >= SCHEMA_IMPORTS ? "export_gpus" : "gpus",
			add_gpu);
	if (!r)
		r = load(ret, "kernels", add_kernel);
	if (!r && query_schema(query) >= SCHEMA_CATEGORIES)
		r = load(ret, "export_communication", mark_communication);
	if (!r)
		r = load(ret, "api_names", add_function);
	if (!r && query_schema(query) >= SCHEMA_IMPORTS)
		r = load(ret, "export_imported_functions", add_function);
	if (!r)
		r = query_number(query, "export_dispatch_count", 0, &dispatches);
	ret->dispatches = (uint64_t)dispatches;
	return r;
}

static void names_done(struct export_names *names)
{
	for (size_t i = 0; i < names->count; i++) {
		free((char *)names->items[i].text);
		free((char *)names->items[i].json);
		free((char *)names->items[i].symbol);
	}
	free(names->items);
	idmap_done(&names->index);
}

void export_source_done(struct export_source *source)
{
	for (size_t i = 0; i < source->process_count; i++) {
		free(source->processes[i].host);
		free(source->processes[i].boot_id);
		free(source->processes[i].exe);
		free(source->processes[i].command);
	}
	for (size_t i = 0; i < source->gpu_count; i++) {
		free(source->gpus[i].bdf);
		free(source->gpus[i].unique_id);
		free(source->gpus[i].gfx);
		free(source->gpus[i].name);
	}
	free(source->processes);
	free(source->gpus);
	free(source->session);
	free(source->command);
	free(source->host);
	idmap_done(&source->process_index);
	idmap_done(&source->gpu_index);
	names_done(&source->kernels);
	names_done(&source->functions);
}

/* ---- the selection -------------------------------------------------------------------------- */

const struct export_process *export_process_find(const struct export_source *source, int64_t id)
{
	uint32_t at = idmap_find(&source->process_index, id);

	return at == IDMAP_NONE ? NULL : source->processes + at;
}

const struct export_gpu *export_gpu_find(const struct export_source *source, int64_t id)
{
	uint32_t at = idmap_find(&source->gpu_index, id);

	return at == IDMAP_NONE ? NULL : source->gpus + at;
}

const struct export_name *export_name_find(const struct export_names *names, int64_t id)
{
	uint32_t at = idmap_find(&names->index, id);

	return at == IDMAP_NONE ? NULL : names->items + at;
}

static bool is_chosen(const struct choice_list *list, bool has_number, int64_t number)
{
	return !list->count || (has_number && number >= 0 && number <= UINT32_MAX &&
				       choice_has(list, (uint32_t)number));
}

bool export_is_possible(const struct export_process *process)
{
	return process->id > 0 && process->id < PROCESS_IDS_MAX && process->pid >= 0 &&
	       process->pid <= INT32_MAX;
}

bool export_has_process(const struct export_source *source, const struct export_process *process)
{
	return export_is_possible(process) &&
	       is_chosen(&source->options->ranks, process->has_rank, process->rank);
}

bool export_has_gpu(const struct export_source *source, bool has_gpu, int64_t gpu_id)
{
	return is_chosen(&source->options->gpus, has_gpu, gpu_id);
}

bool export_has_time(const struct export_source *source, int64_t start_ns, int64_t end_ns)
{
	const struct export_options *options = source->options;

	return (!options->has_from || wrap_minus(end_ns, source->start_ns) >= options->from_ns) &&
	       (!options->has_to || wrap_minus(start_ns, source->start_ns) <= options->to_ns);
}

int64_t export_realtime_offset(const struct export_source *source)
{
	return source->start_realtime_ns ? wrap_minus(source->start_realtime_ns, source->start_ns)
					 : 0;
}

// SPDX-License-Identifier: MIT
#include "cli/export/rows/pass.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "cli/base/message.h"
#include "cli/base/progress.h"
#include "cli/base/wrapping.h"
#include "cli/trace/kernels/graph_replays.h"
#include "proto/base/cleanup.h"

/* Host calls have numbers of 40 bits within a process. */
#define CALL_NUMBER(id)	 ((id) & (((int64_t)1 << 40) - 1))
#define SCHEMA_CALLS	 5
#define SCHEMA_IMPORTS	 14
#define SCHEMA_OP_INPUTS 18
/* Number of rows between two updates of the progress. */
#define PROGRESS_ROWS	 (1u << 12)

struct pass {
	const struct export_source *source;
	struct export_writer *writers;
	size_t count;
	bool has_collectives, takes_ops;
	/* Of the last launch that was looked up, because a launch has many kernels. */
	int64_t launch;
	struct launched *launched;
	size_t launched_count;
	bool is_of_kernels;	  /* each was told by a kernel of its own */
	struct query_rows *asked; /* prepared once, since there may be a launch for each kernel */
	struct graph_replays graphs;
	struct idmap given; /* by launch: how many of its collectives its kernels have */
	uint64_t rows;
};

/* A collective, with those of its texts that are needed after its row. */
struct launched {
	struct export_collective collective;
	char datatype[32];
};

static void pass_done(struct pass *pass)
{
	query_rows_free_p(&pass->asked);
	graph_replays_done(&pass->graphs);
	idmap_done(&pass->given);
	free(pass->launched);
	progress_end();
}

/* ---- common to all rows --------------------------------------------------------------------- */

static void lose(struct pass *pass, enum export_loss loss)
{
	for (size_t i = 0; i < pass->count; i++)
		pass->writers[i].lost[loss]++;
}

/* Returns the process of a row; NULL if it was not requested, or does not exist (counted). */
static const struct export_process *find_process(struct pass *pass, int64_t id)
{
	const struct export_process *process = export_process_find(pass->source, id);

	if (!process || !export_is_possible(process)) {
		lose(pass, EXPORT_IMPOSSIBLE);
		return NULL;
	}
	return export_has_process(pass->source, process) ? process : NULL;
}

/* Returns true if the time was requested. Impossible times are counted. */
static bool takes_times(struct pass *pass, int64_t start_ns, int64_t end_ns)
{
	if (start_ns < 0 || end_ns < start_ns) {
		lose(pass, EXPORT_IMPOSSIBLE);
		return false;
	}
	return export_has_time(pass->source, start_ns, end_ns);
}

/* Returns the end of an event; on overflow a time before its start, which is impossible. */
static int64_t end_of(int64_t start_ns, int64_t duration_ns)
{
	int64_t end;

	return __builtin_add_overflow(start_ns, duration_ns, &end) ? -1 : end;
}

/*
 * Returns the function of the call that caused a row, if it was recorded and requested. @begin is
 * the column of the call's start, which its thread and function follow; @end is the column of its
 * end.
 */
static const struct export_name *find_function(
	const struct pass *pass, const struct query_rows *row, int64_t call, int begin, int end)
{
	if (call <= 0 || query_is_null(row, begin) ||
		!export_has_time(pass->source, query_integer(row, begin), query_integer(row, end)))
		return NULL;
	return export_name_find(&pass->source->functions, query_integer(row, begin + 2));
}

#define GIVE(pass, kind, row, loss)                                                                \
	({                                                                                         \
		int given_ = 0;                                                                    \
		for (size_t i_ = 0; i_ < (pass)->count && !given_; i_++) {                         \
			struct export_writer *writer_ = (pass)->writers + i_;                      \
			if (writer_->format->kind)                                                 \
				given_ = writer_->format->kind(writer_, (row));                    \
			else if ((loss) != EXPORT_LOSSES && !writer_->format->is_summary)          \
				writer_->lost[(loss)]++;                                           \
		}                                                                                  \
		given_;                                                                            \
	})

/* ---- kernels -------------------------------------------------------------------------------- */

/* @column is the column of comm, which the others follow. */
static struct export_collective read_collective(
	const struct query_rows *row, int column, int64_t id, const struct export_name *function)
{
	return (struct export_collective){
		.id = id,
		.function = function,
		.in_launch = 1,
		.comm = query_integer(row, column),
		.has_comm = !query_is_null(row, column),
		.comm_rank = query_integer(row, column + 1),
		.comm_size = query_integer(row, column + 2),
		.has_size = !query_is_null(row, column + 2),
		.seq = query_integer(row, column + 3),
		.has_seq = !query_is_null(row, column + 3),
		.count = query_integer(row, column + 4),
		.bytes = query_integer(row, column + 5),
		.datatype = query_text(row, column + 6),
		.reduction = query_text(row, column + 7),
		.peer = query_integer(row, column + 8),
		.has_peer = !query_is_null(row, column + 8),
	};
}

static int ask_collectives(struct pass *pass, int64_t launch)
{
	struct query *query = pass->source->query;

	if (pass->asked) {
		query_ask_again(pass->asked, launch);
		return 0;
	}
	return query_ask_of(query,
		query_schema(query) >= SCHEMA_IMPORTS ? "export_launched_collectives_imported"
						      : "export_launched_collectives",
		launch, &pass->asked);
}

static int add_launched(struct pass *pass, const struct export_name *function)
{
	const struct query_rows *rows = pass->asked;
	struct launched *grown = grow_by_one(pass->launched, pass->launched_count, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	pass->launched = grown;
	grown += pass->launched_count++;
	grown->collective = read_collective(rows, 2, query_integer(rows, 0), function);
	snprintf(grown->datatype, sizeof(grown->datatype), "%s",
		grown->collective.datatype ? grown->collective.datatype : "");
	grown->collective.reduction = NULL;
	return 0;
}

/* Reads the collectives of the launch. A launch that calls told of has its first one, and how many
 * there are. */
static int read_collectives(struct pass *pass, int64_t launch)
{
	int r = ask_collectives(pass, launch);

	pass->launched_count = 0;
	while (!r && (r = query_next(pass->asked)) > 0) {
		const struct export_name *function =
			export_name_find(&pass->source->functions, query_integer(pass->asked, 1));

		r = 0;
		pass->is_of_kernels = query_integer(pass->asked, 11);
		if (pass->launched_count && !pass->is_of_kernels)
			pass->launched->collective.in_launch++;
		else if (function || pass->is_of_kernels)
			r = add_launched(pass, function);
	}
	return r;
}

/* Returns the index of the kernel's collective in launched. */
static int place_in_launch(struct pass *pass, size_t *ret)
{
	uint32_t *given;

	*ret = 0;
	if (!pass->is_of_kernels || pass->launched_count < 2)
		return 0;
	given = idmap_at(&pass->given, pass->launch);
	if (!given)
		return -ENOMEM;
	*ret = *given == IDMAP_NONE ? 0 : *given;
	*given = (uint32_t)*ret + 1;
	return 0;
}

static int find_collective(struct pass *pass, struct export_kernel *kernel)
{
	int64_t launch = kernel->process->id << 40 | kernel->call;
	const struct graph_unit *replayed;
	struct launched *launched;
	size_t at = 0;
	int r = 0;

	if (!pass->has_collectives || kernel->call <= 0 || !kernel->name->is_communication)
		return 0;
	replayed =
		kernel->has_node ? graph_replays_unit(&pass->graphs, launch, kernel->node) : NULL;
	if (replayed) /* the call that was captured into the graph tells more than its launch */
		launch = replayed->launch_id;
	if (launch != pass->launch) {
		r = read_collectives(pass, launch);
		pass->launch = launch;
	}
	if (!r)
		r = place_in_launch(pass, &at);
	if (r || at >= pass->launched_count)
		return r;
	launched = pass->launched + at;
	if (launched->collective.datatype)
		launched->collective.datatype = launched->datatype;
	if (launched->collective.function)
		kernel->collective = &launched->collective;
	return 0;
}

static int give_kernel(struct pass *pass, const struct query_rows *row)
{
	static const struct export_name unnamed = {
		.text = "kernel", .json = "\"kernel\"", .symbol = ""};
	struct export_kernel kernel = {
		.process = find_process(pass, query_integer(row, 1)),
		.name = export_name_find(&pass->source->kernels, query_integer(row, 4)),
		.id = query_integer(row, 0),
		.gpu_id = query_integer(row, 2),
		.queue = query_integer(row, 3),
		.start_ns = query_integer(row, 5),
		.end_ns = end_of(query_integer(row, 5), query_integer(row, 6)),
		.sequence = query_integer(row, 7),
		.tid = query_integer(row, 8),
		.has_tid = !query_is_null(row, 8),
		.call = query_integer(row, 9),
		.submit_ns = wrap_minus(query_integer(row, 5), query_integer(row, 10)),
		.has_submit = !query_is_null(row, 10),
		.range = query_integer(row, 11),
		.node = query_integer(row, 12),
		.has_node = !query_is_null(row, 12),
		.lds = query_integer(row, 19),
		.scratch = query_integer(row, 20),
		.call_start_ns = query_integer(row, 21),
		.call_tid = query_integer(row, 22),
		.graph_exec = query_integer(row, 24),
		.graph_launch = query_integer(row, 25),
		.has_graph = !query_is_null(row, 24),
	};
	int r;

	if (pass->rows++ % PROGRESS_ROWS == 0)
		progress_set(pass->rows, pass->source->dispatches);
	if (!kernel.process || !export_has_gpu(pass->source, true, kernel.gpu_id))
		return 0;
	if (query_is_null(row, 5)) {
		lose(pass, EXPORT_UNTIMED_KERNELS);
		return 0;
	}
	if (!takes_times(pass, kernel.start_ns, kernel.end_ns))
		return 0;
	if (kernel.gpu_id < 0 || kernel.queue < 0) {
		lose(pass, EXPORT_IMPOSSIBLE);
		return 0;
	}
	if (!kernel.name)
		kernel.name = &unnamed;
	if (kernel.submit_ns < 0 || kernel.submit_ns > kernel.start_ns)
		kernel.has_submit = false;
	kernel.function = find_function(pass, row, kernel.call, 21, 26);
	for (int i = 0; i < 3; i++) {
		kernel.workgroup[i] = query_integer(row, 13 + i);
		kernel.grid[i] = query_integer(row, 16 + i);
	}
	r = find_collective(pass, &kernel);
	return r ? r : GIVE(pass, kernel, &kernel, EXPORT_LOSSES);
}

/* ---- copies --------------------------------------------------------------------------------- */

static int give_copy(struct pass *pass, const struct query_rows *row)
{
	struct export_copy copy = {
		.process = find_process(pass, query_integer(row, 0)),
		.number = query_integer(row, 1),
		.start_ns = query_integer(row, 2),
		.end_ns = query_integer(row, 3),
		.bytes = query_integer(row, 4),
		.direction = query_text(row, 5) ? query_text(row, 5) : "unknown",
		.source = query_integer(row, 6),
		.has_source = !query_is_null(row, 6),
		.target = query_integer(row, 7),
		.has_target = !query_is_null(row, 7),
		.call = query_integer(row, 8),
		.tid = query_integer(row, 9),
		.submit_ns = query_integer(row, 10),
		.range = query_integer(row, 11),
		.how = query_text(row, 12) ? query_text(row, 12) : "",
		.call_start_ns = query_integer(row, 14),
		.call_tid = query_integer(row, 15),
	};

	if (!copy.process || (!export_has_gpu(pass->source, copy.has_source, copy.source) &&
				     !export_has_gpu(pass->source, copy.has_target, copy.target)))
		return 0;
	if (query_is_null(row, 2) || query_is_null(row, 3)) {
		lose(pass, EXPORT_UNTIMED_COPIES);
		return 0;
	}
	if (!takes_times(pass, copy.start_ns, copy.end_ns))
		return 0;
	copy.function = find_function(pass, row, copy.call, 14, 17);
	return GIVE(pass, copy, &copy, EXPORT_COPIES);
}

/* ---- host calls and ranges ------------------------------------------------------------------ */

static int give_call(struct pass *pass, const struct query_rows *row)
{
	static const struct export_name unnamed = {
		.text = "call", .json = "\"call\"", .symbol = ""};
	struct export_collective collective;
	struct export_call call = {
		.process = find_process(pass, query_integer(row, 1)),
		.function = export_name_find(&pass->source->functions, query_integer(row, 3)),
		.id = query_integer(row, 0),
		.number = CALL_NUMBER(query_integer(row, 0)),
		.tid = query_integer(row, 2),
		.start_ns = query_integer(row, 4),
		.end_ns = query_integer(row, 5),
		.result = query_integer(row, 6),
		.parent = query_integer(row, 7),
		.range = query_integer(row, 8),
		.arguments = query_text(row, 9),
		.graph_exec = query_integer(row, 11),
		.graph_launch = query_integer(row, 12),
		.has_graph = !query_is_null(row, 11),
	};

	if (!call.process || !takes_times(pass, call.start_ns, call.end_ns))
		return 0;
	if (!call.function)
		call.function = &unnamed;
	call.is_collective_library = !strncmp(call.function->text, "nccl", 4);
	if (!query_is_null(row, 13)) {
		collective = read_collective(row, 14, query_integer(row, 13), call.function);
		call.collective = &collective;
	}
	return GIVE(pass, call, &call, EXPORT_CALLS);
}

static int give_range(struct pass *pass, const struct query_rows *row)
{
	const char *kind = query_text(row, 3) ? query_text(row, 3) : "";
	CLEANUP(free_p) char *text = NULL;
	struct export_range range = {
		.process = find_process(pass, query_integer(row, 0)),
		.kind = !strcmp(kind, "mark")	 ? EXPORT_MARK
			: !strcmp(kind, "start") ? EXPORT_START
						 : EXPORT_PUSH,
		.id = query_integer(row, 1),
		.tid = query_integer(row, 2),
		.has_tid = !query_is_null(row, 2),
		.start_ns = query_integer(row, 5),
		.parent = query_integer(row, 7),
	};
	bool is_mark = range.kind == EXPORT_MARK;

	range.end_ns = query_integer(row, is_mark ? 5 : 6);
	if (!range.process)
		return 0;
	if (query_is_null(row, 5) || (!is_mark && query_is_null(row, 6))) {
		lose(pass, EXPORT_OPEN_RANGES);
		return 0;
	}
	if (!takes_times(pass, range.start_ns, range.end_ns))
		return 0;
	range.text = text = export_clean(query_text(row, 4));
	return text ? GIVE(pass, range, &range, EXPORT_RANGES) : -ENOMEM;
}

static void take_number(const struct query_rows *row, int column, bool *has, int64_t *ret)
{
	*has = !query_is_null(row, column);
	*ret = query_integer(row, column);
}

static int give_op(struct pass *pass, const struct query_rows *row)
{
	const char *kind = query_text(row, 5);
	CLEANUP(free_p) char *name = NULL, *shapes = NULL, *types = NULL, *inputs = NULL;
	struct export_op op = {
		.process = find_process(pass, query_integer(row, 0)),
		.tid = query_integer(row, 1),
		.start_ns = query_integer(row, 2),
		.end_ns = query_integer(row, 3),
		.is_python = kind && !strcmp(kind, "python"),
	};

	if (!op.process || !takes_times(pass, op.start_ns, op.end_ns))
		return 0;
	if (!pass->takes_ops)
		return GIVE(pass, op, &op, EXPORT_OPS); /* only counted */
	take_number(row, 6, &op.has_external, &op.external);
	take_number(row, 7, &op.has_sequence, &op.sequence);
	take_number(row, 8, &op.has_forward, &op.forward_tid);
	op.name = name = export_clean(query_text(row, 4));
	/* SQLite keeps the text of a column only until the next column is read. */
	if (!query_is_null(row, 9))
		op.shapes = shapes = export_clean(query_text(row, 9));
	if (!query_is_null(row, 10))
		op.types = types = export_clean(query_text(row, 10));
	if (!query_is_null(row, 11))
		op.inputs = inputs = export_clean(query_text(row, 11));
	return name ? GIVE(pass, op, &op, EXPORT_OPS) : -ENOMEM;
}

static int give_metric(struct pass *pass, const struct query_rows *row)
{
	CLEANUP(free_p) char *name = NULL;
	struct export_metric metric = {
		.process = find_process(pass, query_integer(row, 0)),
		.name_id = query_integer(row, 1),
		.id = query_integer(row, 3),
		.time_ns = query_integer(row, 4),
		.value = query_real(row, 5),
	};

	if (!metric.process || !takes_times(pass, metric.time_ns, metric.time_ns))
		return 0;
	metric.name = name = export_clean(query_text(row, 2));
	return name ? GIVE(pass, metric, &metric, EXPORT_METRICS) : -ENOMEM;
}

static int count_outstanding(struct pass *pass, const struct query_rows *row)
{
	const struct export_process *process = find_process(pass, query_integer(row, 0));

	if (process && export_has_gpu(pass->source, !query_is_null(row, 1), query_integer(row, 1)))
		for (size_t i = 0; i < pass->count; i++)
			pass->writers[i].lost[EXPORT_OUTSTANDING] +=
				(uint64_t)query_integer(row, 2);
	return 0;
}

/* ---- the pass ------------------------------------------------------------------------------- */

static int load_graphs(struct pass *pass)
{
	CLEANUP(trace_free_p) struct trace *trace = NULL;
	char error[QUERY_ERROR_BYTES] = "";
	int r = trace_open(pass->source->query, NULL, error, &trace);

	if (*error)
		say("%s", error);
	return r ? r : graph_replays_load(trace, true, &pass->graphs);
}

static int give_rows(struct pass *pass, const char *question,
	int (*give)(struct pass *pass, const struct query_rows *row))
{
	int r = 0;

	QUERY_EACH (r, pass->source->query, question, rows)
		r = give(pass, rows);
	return r;
}

int export_pass(struct export_writer *writers, size_t count)
{
	CLEANUP(pass_done)
	struct pass pass = {
		.source = writers[0].source,
		.writers = writers,
		.count = count,
		.launch = -1,
	};
	struct query *query = pass.source->query;
	bool has_calls = query_schema(query) >= SCHEMA_CALLS;
	int64_t collectives = 0;
	int r = query_number(query, "export_has_collectives", 0, &collectives);

	pass.has_collectives = collectives;
	if (!r && collectives)
		r = load_graphs(&pass);
	for (size_t i = 0; i < count; i++)
		pass.takes_ops |= writers[i].format->op != NULL;
	progress_begin("export");
	for (size_t i = 0; i < count && !r; i++)
		if (writers[i].format->begin)
			r = writers[i].format->begin(writers + i);
	if (!r)
		r = give_rows(&pass, has_calls ? "export_dispatches" : "export_dispatches_alone",
			give_kernel);
	if (!r)
		r = give_rows(&pass, "export_copies", give_copy);
	if (!r)
		r = give_rows(&pass, "export_calls", give_call);
	if (!r)
		r = give_rows(&pass, "export_markers", give_range);
	if (!r)
		r = give_rows(&pass, "export_samples", give_metric);
	if (!r && query_schema(query) >= SCHEMA_IMPORTS)
		r = give_rows(&pass,
			query_schema(query) >= SCHEMA_OP_INPUTS ? "export_ops_with_inputs"
								: "export_ops",
			give_op);
	if (!r)
		r = give_rows(&pass, "export_outstanding", count_outstanding);
	for (size_t i = 0; i < count && !r; i++)
		if (writers[i].format->end)
			r = writers[i].format->end(writers + i);
	return r;
}

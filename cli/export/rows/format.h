/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A foreign format as a table of functions: begin() is called before the first row, one function
 * for each kind of row, and end() after the last row. pass.h gives the rows to all formats of one
 * call while it reads the file once; command.c gives the outputs their names after all have ended.
 * A new format is one file and two lines in formats.c. Everything runs on one thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/export/rows/source.h"
#include "cli/output/output_file.h"
#include "cli/output/output_folder.h"

/* What an export lacks although it was requested. It is counted, and reported on stderr. */
enum export_loss {
	EXPORT_UNTIMED_KERNELS,
	EXPORT_OUTSTANDING,
	EXPORT_UNTIMED_COPIES,
	EXPORT_OPEN_RANGES, /* also marks without a time */
	EXPORT_IMPOSSIBLE,  /* negative times, numbers beyond those of a track, no process */
	EXPORT_CROSSING,    /* it would need more than 64 lanes */
	/* Rows of a kind for which the format has no function. */
	EXPORT_COPIES,
	EXPORT_CALLS,
	EXPORT_RANGES,
	EXPORT_OPS,
	EXPORT_METRICS,
	EXPORT_COLLECTIVES, /* the collectives of a launch after its first */
	EXPORT_RANKS,	    /* processes without a rank, if the format has one file per rank */
	EXPORT_OUTSIDE,	    /* outside of all steps */
	EXPORT_RENAMED,	    /* names with quotes or backslashes, which a reader does not accept */
	EXPORT_LOSSES,
};

/* Return "untimed_kernels" and "kernels without times". */
const char *export_loss_key(enum export_loss loss);
const char *export_loss_words(enum export_loss loss);

struct export_collective {
	const struct export_name *function;
	int64_t id, comm, comm_rank, comm_size, seq, count, bytes, peer;
	bool has_comm, has_size, has_seq, has_peer;
	const char *datatype, *reduction; /* NULL: unknown */
	unsigned in_launch;		  /* number of collectives in the same launch */
};

struct export_kernel {
	const struct export_process *process;
	const struct export_name *name;
	int64_t id; /* rocpd_op.id */
	int64_t gpu_id, queue, sequence, start_ns, end_ns, submit_ns, tid;
	bool has_submit, has_tid;
	int64_t range; /* roctxId; 0: none */
	int64_t call;  /* call of the process; 0: none */
	int64_t node;  /* of a graph: its place in the launch */
	bool has_node;
	/* Of the call, if it was recorded and requested: */
	const struct export_name *function; /* NULL: it was not */
	int64_t call_start_ns, call_tid;
	int64_t graph_exec, graph_launch;
	bool has_graph;
	/* workgroup, grid: in work-items; lds, scratch: in bytes */
	int64_t workgroup[3], grid[3], lds, scratch;
	const struct export_collective *collective; /* the first one of the launch; NULL: none */
};

struct export_copy {
	const struct export_process *process;
	int64_t number, start_ns, end_ns, submit_ns, bytes, tid;
	const char *direction, *how;
	int64_t source, target; /* gpuId */
	bool has_source, has_target;
	int64_t range, call;
	const struct export_name *function; /* of the call, as in export_kernel */
	int64_t call_start_ns, call_tid;
};

struct export_call {
	const struct export_process *process;
	const struct export_name *function;
	int64_t id, number, parent, tid, start_ns, end_ns, result, range;
	const char *arguments; /* a JSON object or NULL */
	bool is_collective_library;
	int64_t graph_exec, graph_launch;
	bool has_graph;
	const struct export_collective *collective; /* NULL: none */
};

enum export_range_kind { EXPORT_PUSH, EXPORT_START, EXPORT_MARK };

struct export_range {
	const struct export_process *process;
	enum export_range_kind kind;
	int64_t id, parent, tid, start_ns, end_ns;
	bool has_tid;	  /* a mark of an import may be of no thread */
	const char *text; /* UTF-8 */
};

/* An operation of a framework, as PyTorch's profiler reported it. */
struct export_op {
	const struct export_process *process;
	int64_t tid, start_ns, end_ns, external, sequence, forward_tid;
	bool has_external, has_sequence, has_forward;
	bool is_python;			     /* a frame of Python */
	const char *name;		     /* UTF-8 */
	const char *shapes, *types, *inputs; /* JSON; NULL: unknown */
};

/* A number of a program at a time: of a mark, or of an import. */
struct export_metric {
	const struct export_process *process;
	const char *name; /* UTF-8 */
	int64_t name_id, id, time_ns;
	double value;
};

enum export_kind {
	EXPORT_FILE,	 /* a stream; "-" is stdout, and a name in .gz is compressed */
	EXPORT_FOLDER,	 /* a folder of streams */
	EXPORT_DATABASE, /* a path */
};

struct export_format;

/* One format in a call of rtl export. */
struct export_writer {
	const struct export_format *format;
	const struct export_source *source;
	const char *label; /* name of the database; NULL: its session's */
	size_t dataset,
		datasets; /* index and number of the databases, if the format takes several */
	const char *out;
	struct output_file file;
	struct output_folder folder;
	FILE *to; /* the stream of EXPORT_FILE */
	uint64_t lost[EXPORT_LOSSES];
	uint64_t bytes;
	void *state; /* state_bytes long, initially zero */
};

/* Each function may be NULL. It returns 0, or -errno with the reason in query_error() or already
 * printed. */
struct export_format {
	const char *option; /* without -- */
	const char *argument;
	const char *help;
	const char *use; /* what the user can do with the output */
	enum export_kind kind;
	bool is_compressible;
	/* takes several databases in turn, with begin() to end() for each */
	bool takes_several;
	bool is_summary;	  /* it has no place for rows, so it lacks none */
	const char *const *files; /* patterns of the files in a folder of this format */
	size_t state_bytes;
	int (*begin)(struct export_writer *writer);
	int (*kernel)(struct export_writer *writer, const struct export_kernel *kernel);
	int (*copy)(struct export_writer *writer, const struct export_copy *copy);
	int (*call)(struct export_writer *writer, const struct export_call *call);
	int (*range)(struct export_writer *writer, const struct export_range *range);
	int (*op)(struct export_writer *writer, const struct export_op *op);
	int (*metric)(struct export_writer *writer, const struct export_metric *metric);
	int (*end)(struct export_writer *writer);
	void (*done)(struct export_writer *writer); /* frees what state holds, at any stage */
};

extern const struct export_format *const export_formats[];
extern const size_t export_format_count;

/* Opens the output of the format. Returns 0, or -errno after printing the reason. */
int export_writer_open(struct export_writer *writer);
/* Ends the output under its temporary name; output_*_publish() gives it its own. Returns 0, or
 * -errno after printing the reason. */
int export_writer_close(struct export_writer *writer);
int export_writer_publish(struct export_writer *writer);
void export_writer_done(struct export_writer *writer);

/* Writes ns as microseconds with the ns as decimals, "1234.567". */
void export_put_us(FILE *to, int64_t ns);
#define EXPORT_LABEL_BYTES 64
/* Writes "SIMULATED INCOMPLETE rank 3 ", the prefix for names of things of @process. */
void export_label(const struct export_source *source, const struct export_process *process,
	char ret[EXPORT_LABEL_BYTES]);
/*
 * Writes one JSON object that says what the file lacks: the keys of rtl summary --json, session,
 * version, times. Returns 0 or -ENOMEM.
 */
int export_put_metadata(FILE *to, const struct export_writer *writer, bool has_left_out);
/* Writes what was left out so far, the "left_out" of that object. Returns 0 or -ENOMEM. */
int export_put_left_out(FILE *to, const struct export_writer *writer);
/* Returns the number of workgroups of @workgroup work-items along one side of a grid. */
int64_t export_workgroups(int64_t grid, int64_t workgroup);
/* Returns PyTorch's name of the operation: allreduce, _allgather_base, ...; or the function's own
 * name if PyTorch has none. */
const char *export_collective_name(const struct export_name *function);

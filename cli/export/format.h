/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A format of others, as a table of functions: begin() before the first row, one for each kind of
 * row, end() after the last. pass.h gives the rows to all formats of one call in one reading of the
 * file; command.c gives what they write its name once all have ended. A new format is one file and
 * one line in formats.c. One thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/export/source.h"
#include "cli/output/output_file.h"
#include "cli/output/output_folder.h"

/* What is not in an export, though it was asked for: counted, and said on stderr. */
enum export_loss {
	EXPORT_UNTIMED_KERNELS,
	EXPORT_OUTSTANDING,
	EXPORT_UNTIMED_COPIES,
	EXPORT_OPEN_RANGES, /* and marks without a time */
	EXPORT_IMPOSSIBLE,  /* negative times, numbers that no track has, no process */
	EXPORT_CROSSING,    /* more than 64 lanes would be needed */
	/* Rows of a kind for which the format has no function. */
	EXPORT_COPIES,
	EXPORT_CALLS,
	EXPORT_RANGES,
	EXPORT_OPS,
	EXPORT_COLLECTIVES, /* of one launch, but the first */
	EXPORT_RANKS,	    /* processes without a rank, where a format has one file a rank */
	EXPORT_OUTSIDE,	    /* outside of all steps */
	EXPORT_RENAMED,	    /* names with quotes and backslashes, which a reader does not take */
	EXPORT_LOSSES,
};

/* "untimed_kernels"; "kernels without times". */
const char *export_loss_key(enum export_loss loss);
const char *export_loss_words(enum export_loss loss);

struct export_collective {
	const struct export_name *function;
	int64_t id, comm, comm_rank, comm_size, seq, count, bytes, peer;
	bool has_comm, has_size, has_seq, has_peer;
	const char *datatype, *reduction; /* NULL: not known */
	unsigned in_launch;		  /* so many collectives began in one launch */
};

struct export_kernel {
	const struct export_process *process;
	const struct export_name *name;
	int64_t id; /* rocpd_op.id */
	int64_t gpu_id, queue, sequence, start_ns, end_ns, submit_ns, tid;
	bool has_submit, has_tid;
	int64_t range; /* roctxId; 0: none */
	int64_t call;  /* of the process; 0: none */
	int64_t node;  /* of a graph: its place in the launch */
	bool has_node;
	/* Of the call, where it was recorded and asked for: */
	const struct export_name *function; /* NULL: it was not */
	int64_t call_start_ns, call_tid;
	int64_t graph_exec, graph_launch;
	bool has_graph;
	int64_t workgroup[3], grid[3], lds, scratch; /* in work-items; bytes */
	const struct export_collective *collective;  /* the first one of the launch; NULL: none */
};

struct export_copy {
	const struct export_process *process;
	int64_t number, start_ns, end_ns, submit_ns, bytes, tid;
	const char *direction, *how;
	int64_t source, target; /* gpuId */
	bool has_source, has_target;
	int64_t range, call;
	const struct export_name *function; /* of the call, as above */
	int64_t call_start_ns, call_tid;
};

struct export_call {
	const struct export_process *process;
	const struct export_name *function;
	int64_t id, number, parent, tid, start_ns, end_ns, result, range;
	const char *arguments; /* a JSON object; NULL */
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
	const char *text; /* UTF-8 */
};

/* Of a framework, as PyTorch's profiler told of it. */
struct export_op {
	const struct export_process *process;
	int64_t tid, start_ns, end_ns, external, sequence, forward_tid;
	bool has_external, has_sequence, has_forward;
	bool is_python;		    /* a frame of Python */
	const char *name;	    /* UTF-8 */
	const char *shapes, *types; /* JSON; NULL: not known */
};

enum export_kind {
	EXPORT_FILE,	 /* a stream, "-" is stdout, .gz by the name */
	EXPORT_FOLDER,	 /* of streams */
	EXPORT_DATABASE, /* a path */
};

struct export_format;

/* One format of a call of rtl export. */
struct export_writer {
	const struct export_format *format;
	const struct export_source *source;
	const char *label; /* what to call the database; NULL: as its session */
	size_t dataset,
		datasets; /* which database it is, and of how many, where it takes several */
	const char *out;
	struct output_file file;
	struct output_folder folder;
	FILE *to; /* of EXPORT_FILE */
	uint64_t lost[EXPORT_LOSSES];
	uint64_t bytes;
	void *state; /* of state_bytes, zeroed */
};

/* Each function may be NULL, and returns 0 or -errno; then query_error() or a line before tells. */
struct export_format {
	const char *option; /* without -- */
	const char *argument;
	const char *help;
	const char *use; /* what to do with it */
	enum export_kind kind;
	bool is_compressible;
	bool takes_several;	  /* databases, one after another, begin() to end() for each */
	bool is_summary;	  /* it has no place for rows, and lacks none */
	const char *const *files; /* patterns of what a folder of it has */
	size_t state_bytes;
	int (*begin)(struct export_writer *writer);
	int (*kernel)(struct export_writer *writer, const struct export_kernel *kernel);
	int (*copy)(struct export_writer *writer, const struct export_copy *copy);
	int (*call)(struct export_writer *writer, const struct export_call *call);
	int (*range)(struct export_writer *writer, const struct export_range *range);
	int (*op)(struct export_writer *writer, const struct export_op *op);
	int (*end)(struct export_writer *writer);
	void (*done)(struct export_writer *writer); /* of what state holds, however far it came */
};

extern const struct export_format *const export_formats[];
extern const size_t export_format_count;

/* Opens what the format writes to; 0 or -errno after a line. */
int export_writer_open(struct export_writer *writer);
/* Ends it, under its first name; output_*_publish() is what remains. 0 or -errno after a line. */
int export_writer_close(struct export_writer *writer);
int export_writer_publish(struct export_writer *writer);
void export_writer_done(struct export_writer *writer);

/* Where the texts of a format are: us with the ns as decimals, "1234.567". */
void export_put_us(FILE *to, int64_t ns);
#define EXPORT_LABEL_BYTES 64
/* "SIMULATED INCOMPLETE rank 3 ": what comes before the name of something of @process. */
void export_label(const struct export_source *source, const struct export_process *process,
	char ret[EXPORT_LABEL_BYTES]);
/*
 * The object that says what the file lacks: the keys of rtl summary --json, session, version,
 * times. As one JSON value. -ENOMEM.
 */
int export_put_metadata(FILE *to, const struct export_writer *writer, bool has_left_out);
/* What was left out so far, which is "left_out" of the object above. -ENOMEM. */
int export_put_left_out(FILE *to, const struct export_writer *writer);
/* How many workgroups of @workgroup work-items a side of a grid has. */
int64_t export_workgroups(int64_t grid, int64_t workgroup);
/* What PyTorch calls it: allreduce, _allgather_base, ...; of a function that it has no name for:
 * its own. */
const char *export_collective_name(const struct export_name *function);

/* SPDX-License-Identifier: MIT */
#include "collectord/ingest/calls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "collectord/ingest/call_arguments.h"
#include "collectord/db/database.h"
#include "proto/names/collectives.h"
#include "proto/names/host_calls.h"
#include "proto/base/limits.h"

/* One call, from a frame or from a recorder. */
struct call {
	uint32_t api; /* enum rtl_host_call or rtl_collective */
	uint64_t id;
	uint64_t parent;
	uint32_t tid;
	uint64_t start_ns;
	uint64_t duration_ns;
	uint64_t marker;
	int32_t result;
	uint64_t stream;
	const uint64_t *words; /* arguments of a host call */
};

struct collective {
	struct call call;
	uint64_t count;
	uint64_t bytes;
	uint32_t datatype;
	uint32_t reduction;
	uint64_t comm;
	uint32_t comm_rank;
	uint32_t comm_size;
	uint64_t seq;
	int32_t peer;
	uint64_t group;
	uint64_t graph; /* hipGraph_t into which it was captured; 0: none */
};

#define ROW_ID(process, number) ((process)->id << 40 | (int64_t)(number))

#define CALL_OF_FRAME(from_, i_, api_)                                                             \
	{                                                                                          \
		.api = api_[i_], .id = from_->id[i_], .parent = from_->parent[i_],                 \
		.tid = from_->tid[i_], .start_ns = from_->start_ns[i_],                            \
		.duration_ns = from_->duration_ns[i_], .marker = from_->marker[i_],                \
		.result = from_->result[i_], .stream = from_->stream[i_],                          \
	}

static struct call call_of_entry(const struct recorder_call *entry)
{
	return (struct call){
		.api = entry->api,
		.id = entry->id,
		.parent = entry->parent,
		.tid = entry->tid,
		.start_ns = entry->start_ns,
		/*
		 * If the times are out of order, the length is out of range and the entry is
		 * rejected.
		 */
		.duration_ns = entry->end_ns - entry->start_ns,
		.marker = entry->marker,
		.result = entry->result,
		.stream = entry->stream,
		.words = entry->arg,
	};
}

static struct collective collective_of_frame(const Rtl__Collectives *c, uint32_t i)
{
	return (struct collective){
		.call = CALL_OF_FRAME(c, i, c->op),
		.count = c->count[i],
		.bytes = c->bytes[i],
		.datatype = c->datatype[i],
		.reduction = c->reduction[i],
		.comm = c->comm[i],
		.comm_rank = c->comm_rank[i],
		.comm_size = c->comm_size[i],
		.seq = c->seq[i],
		.peer = c->peer[i],
		.group = c->group[i],
		.graph = c->n_graph ? c->graph[i] : 0,
	};
}

static struct collective collective_of_entry(const struct recorder_call *entry)
{
	return (struct collective){
		.call = call_of_entry(entry),
		.count = entry->arg[COLLECTIVE_ARG_COUNT],
		.bytes = entry->arg[COLLECTIVE_ARG_BYTES],
		.datatype = (uint32_t)entry->arg[COLLECTIVE_ARG_TYPE],
		.reduction = (uint32_t)(entry->arg[COLLECTIVE_ARG_TYPE] >> 32),
		.comm = entry->arg[COLLECTIVE_ARG_COMM],
		.comm_rank = (uint32_t)entry->arg[COLLECTIVE_ARG_RANK],
		.comm_size = (uint32_t)(entry->arg[COLLECTIVE_ARG_RANK] >> 32),
		.seq = entry->arg[COLLECTIVE_ARG_SEQ],
		.peer = (int32_t)entry->arg[COLLECTIVE_ARG_PEER],
		.group = entry->arg[COLLECTIVE_ARG_GROUP],
		.graph = entry->arg[COLLECTIVE_ARG_GRAPH],
	};
}

static bool call_is_valid(const struct call *call)
{
	return call->id && call->id <= PROCESS_CALL_MAX && call->parent <= PROCESS_CALL_MAX &&
	       call->start_ns <= INT64_MAX && call->duration_ns <= INT64_MAX - call->start_ns &&
	       call->marker <= INT64_MAX;
}

static bool collective_is_valid(const struct collective *c)
{
	return call_is_valid(&c->call) && collective_name(c->call.api) && c->count <= INT64_MAX &&
	       c->bytes <= INT64_MAX && c->comm <= INT64_MAX &&
	       (c->seq <= INT64_MAX || c->seq == COLLECTIVE_NO_SEQ) && c->group <= PROCESS_CALL_MAX;
}

/* ---- rows ------------------------------------------------------------------------------ */

/*
 * Finds the graph of a launch and the number of the launch. Returns false if the call is not one.
 */
static bool graph_of(const struct host_call_info *info, const uint64_t *words, uint64_t graph[2])
{
	for (unsigned i = 0; i < info->count; i++) {
		if (info->argument[i].form == HOST_FORM_EXEC) {
			memcpy(graph, words, 2 * sizeof(graph[0]));
			return true;
		}
		words += info->argument[i].form == HOST_FORM_TEXT ? HOST_TEXT_WORDS : 1;
	}
	return false;
}

static void bind_call(
	sqlite3_stmt *put, const struct process *process, const struct call *call, int64_t api_id)
{
	sqlite3_bind_int64(put, 1, ROW_ID(process, call->id));
	sqlite3_bind_int64(put, 2, process->id);
	database_bind_optional(put, 3, call->parent, (int64_t)call->parent);
	sqlite3_bind_int64(put, 4, call->tid);
	sqlite3_bind_int64(put, 5, api_id);
	sqlite3_bind_int64(put, 6, (int64_t)call->start_ns);
	sqlite3_bind_int64(put, 7, (int64_t)(call->start_ns + call->duration_ns));
	sqlite3_bind_int64(put, 8, call->result);
	database_bind_optional(put, 9, call->stream, (int64_t)call->stream);
	database_bind_optional(put, 10, call->marker, (int64_t)call->marker);
}

/* Returns the row id of a HIP function. The names of its arguments are stored once. */
static int host_api_row(struct intern *intern, uint32_t api, int64_t *ret_id)
{
	char names[ARGUMENTS_BYTES_MAX];

	*ret_id = intern->apis[api];
	if (*ret_id)
		return 0;
	arguments_names(&host_call_info[api], names);
	return intern_put_api(intern, api, host_call_info[api].name, names, ret_id);
}

static int put_host_call(struct writer *writer, struct process *process, const struct call *call)
{
	const struct host_call_info *info = &host_call_info[call->api];
	sqlite3_stmt *put = writer->statements.at[ST_CALL_PUT];
	char text[ARGUMENTS_BYTES_MAX];
	uint64_t graph[2] = {0};
	bool has_graph;
	int64_t api_id;
	int r = host_api_row(&writer->intern, call->api, &api_id);

	if (r < 0)
		return r;
	bind_call(put, process, call, api_id);
	if (info->count)
		sqlite3_bind_text(
			put, 11, text, (int)arguments_json(info, call->words, text), SQLITE_STATIC);
	has_graph = graph_of(info, call->words, graph);
	database_bind_optional(put, 12, has_graph, (int64_t)graph[0]);
	database_bind_optional(put, 13, has_graph && graph[1] <= INT64_MAX, (int64_t)graph[1]);
	writer->rows++;
	process->is_dirty = true;
	return database_run(put);
}

static int put_collective_part(
	struct writer *writer, const struct process *process, const struct collective *c)
{
	sqlite3_stmt *put = writer->statements.at[ST_COLLECTIVE_PUT];

	sqlite3_bind_int64(put, 1, ROW_ID(process, c->call.id));
	database_bind_optional(put, 2, c->comm != COLLECTIVE_NO_COMM, (int64_t)c->comm);
	database_bind_optional(put, 3, c->comm_rank != COLLECTIVE_NO_RANK, c->comm_rank);
	database_bind_optional(put, 4, c->comm_size, c->comm_size);
	database_bind_optional(put, 5, c->seq != COLLECTIVE_NO_SEQ, (int64_t)c->seq);
	sqlite3_bind_int64(put, 6, (int64_t)c->count);
	sqlite3_bind_int64(put, 7, (int64_t)c->bytes);
	sqlite3_bind_text(put, 8, collective_type_name(c->datatype), -1, SQLITE_STATIC);
	sqlite3_bind_text(put, 9, collective_reduction_name(c->reduction), -1, SQLITE_STATIC);
	database_bind_optional(put, 10, c->peer != COLLECTIVE_NO_PEER, c->peer);
	database_bind_optional(put, 11, c->group, (int64_t)c->group);
	sqlite3_bind_int64(put, 12, ROW_ID(process, c->group ? c->group : c->call.id));
	return database_run(put);
}

/* Stores the graph into which the collective was captured, if any. */
static int put_captured(
	struct writer *writer, const struct process *process, const struct collective *c)
{
	sqlite3_stmt *put = writer->statements.at[ST_CAPTURED_PUT];

	if (!c->graph)
		return 0;
	sqlite3_bind_int64(put, 1, ROW_ID(process, c->call.id));
	sqlite3_bind_int64(put, 2, (int64_t)c->graph);
	return database_run(put);
}

/* Formats its communicator. A collective that moves data has columns for its other arguments. */
static int collective_json(const struct collective *c, char *ret, size_t bytes)
{
	if (c->comm == COLLECTIVE_NO_COMM)
		return snprintf(ret, bytes, "{}");
	if (c->comm_rank == COLLECTIVE_NO_RANK)
		return snprintf(ret, bytes, "{\"comm\":%llu}", (unsigned long long)c->comm);
	return snprintf(ret, bytes, "{\"comm\":%llu,\"rank\":%u,\"size\":%u}",
		(unsigned long long)c->comm, c->comm_rank, c->comm_size);
}

static int put_collective(
	struct writer *writer, struct process *process, const struct collective *c)
{
	sqlite3_stmt *put = writer->statements.at[ST_CALL_PUT];
	char json[128];
	int64_t api_id;
	int r = intern_put_api(&writer->intern, RTL_HOST_COUNT + c->call.api,
		collective_name(c->call.api), "comm,rank,size", &api_id);

	if (r < 0)
		return r;
	bind_call(put, process, &c->call, api_id);
	sqlite3_bind_text(put, 11, json, collective_json(c, json, sizeof(json)), SQLITE_STATIC);
	writer->rows++;
	process->is_dirty = true;
	r = database_run(put);
	if (r < 0 || !collective_moves(c->call.api))
		return r;
	r = put_collective_part(writer, process, c);
	return r < 0 ? r : put_captured(writer, process, c);
}

/* ---- frames and entries ------------------------------------------------------------------ */

static int bad(char why[INGEST_WHY_BYTES])
{
	snprintf(why, INGEST_WHY_BYTES, "a host call is out of range");
	return -EBADMSG;
}

int ingest_host_calls(struct writer *writer, struct process *process, const Rtl__HostCalls *calls,
	char why[INGEST_WHY_BYTES])
{
	size_t word = 0;
	int r = 0;

	for (uint32_t i = 0; i < calls->n; i++) {
		struct call call = CALL_OF_FRAME(calls, i, calls->api);

		if (!call_is_valid(&call))
			return bad(why);
	}
	for (uint32_t i = 0; r == 0 && i < calls->n; i++) {
		struct call call = CALL_OF_FRAME(calls, i, calls->api);

		/* If no call of the frame has arguments, the column is missing. */
		call.words = calls->arg_count[i] ? calls->arg + word : NULL;
		word += calls->arg_count[i];
		r = put_host_call(writer, process, &call);
	}
	return r;
}

int ingest_collectives(struct writer *writer, struct process *process,
	const Rtl__Collectives *collectives, char why[INGEST_WHY_BYTES])
{
	int r = 0;

	for (uint32_t i = 0; i < collectives->n; i++) {
		struct collective one = collective_of_frame(collectives, i);

		if (!collective_is_valid(&one))
			return bad(why);
	}
	for (uint32_t i = 0; r == 0 && i < collectives->n; i++) {
		struct collective one = collective_of_frame(collectives, i);

		r = put_collective(writer, process, &one);
	}
	return r;
}

int ingest_call_entry(
	struct writer *writer, struct process *process, const struct recorder_call *entry)
{
	if (entry->kind == RECORDER_CALL_HOST) {
		struct call call = call_of_entry(entry);

		return call.api < RTL_HOST_COUNT && call_is_valid(&call)
			       ? put_host_call(writer, process, &call)
			       : -EBADMSG;
	}
	if (entry->kind == RECORDER_CALL_COLLECTIVE) {
		struct collective one = collective_of_entry(entry);

		return collective_is_valid(&one) ? put_collective(writer, process, &one) : -EBADMSG;
	}
	return -EBADMSG;
}

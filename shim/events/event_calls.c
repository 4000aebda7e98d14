// SPDX-License-Identifier: MIT
#include "proto/names/collectives.h"
#include "proto/names/host_calls.h"
#include "shim/events/frames.h"

/* A kernel launch takes some 50 bytes, so this many usually fit into one cell. */
#define RECORDS 512u

/* Columns that both kinds have. Everything below is used by the shim thread only. */
static struct call_columns {
	uint32_t api[RECORDS], tid[RECORDS];
	int32_t result[RECORDS];
	uint64_t id[RECORDS], parent[RECORDS], start_ns[RECORDS], duration_ns[RECORDS];
	uint64_t marker[RECORDS], stream[RECORDS];
	Rtl__Frame frame;
} columns;

static struct host_columns {
	uint32_t arg_count[RECORDS];
	uint64_t arg[RECORDS * HOST_ARGS_MAX];
	Rtl__HostCalls message;
} host;

static struct collective_columns {
	uint32_t datatype[RECORDS], reduction[RECORDS], comm_rank[RECORDS], comm_size[RECORDS];
	int32_t peer[RECORDS];
	uint64_t count[RECORDS], bytes[RECORDS], comm[RECORDS], seq[RECORDS], group[RECORDS];
	uint64_t graph[RECORDS];
	Rtl__Collectives message;
} collective;

static const struct recorder_call *call_of(const struct recorder_event *event)
{
	return (const struct recorder_call *)(const void *)event;
}

static void columns_put(uint32_t i, const struct recorder_call *call)
{
	columns.api[i] = call->api;
	columns.id[i] = call->id;
	columns.parent[i] = call->parent;
	columns.tid[i] = call->tid;
	columns.start_ns[i] = call->start_ns;
	columns.duration_ns[i] = call->end_ns > call->start_ns ? call->end_ns - call->start_ns : 0;
	columns.marker[i] = call->marker;
	columns.result[i] = call->result;
	columns.stream[i] = call->stream;
}

/* Sets the fields that both messages have under the same names. */
#define SHARED(message_, n_)                                                                       \
	do {                                                                                       \
		message_->has_n = 1;                                                               \
		message_->n = n_;                                                                  \
		message_->n_id = message_->n_parent = message_->n_tid = n_;                        \
		message_->n_start_ns = message_->n_duration_ns = n_;                               \
		message_->n_marker = message_->n_result = message_->n_stream = n_;                 \
		message_->id = columns.id;                                                         \
		message_->parent = columns.parent;                                                 \
		message_->tid = columns.tid;                                                       \
		message_->start_ns = columns.start_ns;                                             \
		message_->duration_ns = columns.duration_ns;                                       \
		message_->marker = columns.marker;                                                 \
		message_->result = columns.result;                                                 \
		message_->stream = columns.stream;                                                 \
	} while (0)

static uint32_t host_put(uint32_t i, const struct recorder_call *call, uint32_t at)
{
	uint32_t words = call->api < RTL_HOST_COUNT ? host_call_info[call->api].words : 0;

	columns_put(i, call);
	host.arg_count[i] = words;
	for (uint32_t word = 0; word < words; word++)
		host.arg[at + word] = call->arg[word];
	return at + words;
}

static Rtl__Frame *host_build(
	const struct recorder_event *const *events, uint32_t n, struct strings *strings)
{
	Rtl__HostCalls *message = &host.message;
	uint32_t words = 0;

	(void)strings;
	for (uint32_t i = 0; i < n; i++)
		words = host_put(i, call_of(events[i]), words);
	rtl__host_calls__init(message);
	SHARED(message, n);
	message->n_api = message->n_arg_count = n;
	message->api = columns.api;
	message->arg_count = host.arg_count;
	message->n_arg = words;
	message->arg = host.arg;
	rtl__frame__init(&columns.frame);
	columns.frame.body_case = RTL__FRAME__BODY_HOST_CALLS;
	columns.frame.host_calls = message;
	return &columns.frame;
}

static void collective_put(uint32_t i, const struct recorder_call *call)
{
	columns_put(i, call);
	collective.count[i] = call->arg[COLLECTIVE_ARG_COUNT];
	collective.bytes[i] = call->arg[COLLECTIVE_ARG_BYTES];
	collective.datatype[i] = (uint32_t)call->arg[COLLECTIVE_ARG_TYPE];
	collective.reduction[i] = (uint32_t)(call->arg[COLLECTIVE_ARG_TYPE] >> 32);
	collective.comm[i] = call->arg[COLLECTIVE_ARG_COMM];
	collective.comm_rank[i] = (uint32_t)call->arg[COLLECTIVE_ARG_RANK];
	collective.comm_size[i] = (uint32_t)(call->arg[COLLECTIVE_ARG_RANK] >> 32);
	collective.seq[i] = call->arg[COLLECTIVE_ARG_SEQ];
	collective.peer[i] = (int32_t)call->arg[COLLECTIVE_ARG_PEER];
	collective.group[i] = call->arg[COLLECTIVE_ARG_GROUP];
	collective.graph[i] = call->arg[COLLECTIVE_ARG_GRAPH];
}

static Rtl__Frame *collectives_build(
	const struct recorder_event *const *events, uint32_t n, struct strings *strings)
{
	Rtl__Collectives *message = &collective.message;

	(void)strings;
	for (uint32_t i = 0; i < n; i++)
		collective_put(i, call_of(events[i]));
	rtl__collectives__init(message);
	SHARED(message, n);
	message->n_op = message->n_count = message->n_bytes = message->n_datatype = n;
	message->n_reduction = message->n_comm = message->n_comm_rank = n;
	message->n_comm_size = message->n_seq = message->n_peer = message->n_group = n;
	message->n_graph = n;
	message->op = columns.api;
	message->count = collective.count;
	message->bytes = collective.bytes;
	message->datatype = collective.datatype;
	message->reduction = collective.reduction;
	message->comm = collective.comm;
	message->comm_rank = collective.comm_rank;
	message->comm_size = collective.comm_size;
	message->seq = collective.seq;
	message->peer = collective.peer;
	message->group = collective.group;
	message->graph = collective.graph;
	rtl__frame__init(&columns.frame);
	columns.frame.body_case = RTL__FRAME__BODY_COLLECTIVES;
	columns.frame.collectives = message;
	return &columns.frame;
}

const struct event_encoder event_host_calls = {RECORDS, host_build};
const struct event_encoder event_collectives = {RECORDS, collectives_build};
static_assert(RECORDS <= EVENT_FRAME_RECORDS_MAX, "records of a frame");

/* SPDX-License-Identifier: MIT */
#pragma once
/* Shared by the files of the format perfetto: perfetto.c has the trace, the GPU's part and the
 * packets of a process; perfetto_slices.c has the host's part. Everything runs on one thread. */
#include "cli/export/rows/format.h"
#include "cli/export/rows/launches.h"
#include "cli/export/perfetto/perfetto.pb-c.h"
#include "cli/export/perfetto/queue_depth.h"
#include "cli/export/rows/tracks.h"

/* Constants of Perfetto. */
enum { CLOCK_ID_REALTIME = 1, CLOCK_ID_BOOTTIME = 6 };
enum { SEQUENCE_CLEARED = 1, SEQUENCE_NEEDS = 2 };
enum { EVENT_BEGIN = 1, EVENT_END = 2, EVENT_INSTANT = 3, EVENT_COUNTER = 4 };
enum {
	UNIT_COUNT = 2,
	UNIT_BYTES = 3,
	MERGE_NONE = 2,
	API_HIP = 5,
	STAGE_OTHER = 0,
	STAGE_COMPUTE = 2
};

#define PACKET_TAG    0x0a /* Trace.packet */
/* Process ids have 12 bits in event ids; processes beyond that are left out. */
#define PROCESSES_MAX 4095
#define GPUS_MAX      1024		 /* GPUs beyond that are not described */
#define NUMBERS_MAX   ((int64_t)1 << 28) /* limit of the numbers of threads and queues */
/* Linux's greatest pid + 1: keeps the pids of nodes apart */
#define PID_STEP      4194304

/* Interned ids of a sequence, defined in its first packet. */
enum { CATEGORY_HIP = 1, CATEGORY_RCCL, CATEGORY_ROCTX, CATEGORY_COPY, CATEGORIES };
enum {
	ARG_RESULT = 1,
	ARG_COLLECTIVE,
	ARG_BYTES,
	ARG_DATATYPE,
	ARG_COMM,
	ARG_SEQ,
	ARG_COMM_SIZE,
	ARG_ROCTX_ID,
	ARGS,
};
#define ARGS_MAX 8

struct sequence {
	bool is_begun;
	uint32_t last_uuid, last_queue;
	uint64_t *named; /* one bit per name of the source and per direction of copies */
};

struct lane; /* perfetto_slices.c */

struct gpu_queue {
	size_t process;
	uint64_t iid;
	uint64_t depth_uuid; /* 0: a queue of copies */
	struct queue_depth depth;
};

struct perfetto {
	struct sequence *sequences;
	struct tracks tracks;
	struct idmap lane_index, queue_index, thread_index;
	struct lane *lanes;
	struct gpu_queue *queues;
	size_t lane_count, queue_count;
	struct launches launches;
	uint8_t *packed;
	size_t packed_bytes;
	struct idmap metric_index;  /* by process and name: the lower half of the track's uuid */
	struct gpu_queue *counting; /* the queue whose depth is being counted */
};

/* Event ids are unique in the file. A call can compute those of its kernels and of its first
 * copy. */
#define NODES_MAX	  (((int64_t)1 << 24) - 3)
#define NODE_COPY	  (NODES_MAX + 1)
#define EVENT_PROCESS(at) (((uint64_t)(at) + 1) << 52)
#define EVENT_UNLINKED	  ((uint64_t)1 << 51)
#define EVENT_COPY	  ((uint64_t)1 << 50)
#define EVENT_NUMBER(id)  ((uint64_t)(id) & (EVENT_COPY - 1))

static inline uint64_t perfetto_linked_event(size_t process, int64_t call, int64_t node)
{
	return EVENT_PROCESS(process) | (uint64_t)call << 24 | (uint64_t)(node + 1);
}

/* ---- perfetto.c ----------------------------------------------------------------------------- */

RtlPerfetto__TracePacket perfetto_event(size_t process, int64_t time_ns);
int perfetto_put(struct export_writer *w, const RtlPerfetto__TracePacket *packet);
int perfetto_put_track(
	struct export_writer *w, size_t process, RtlPerfetto__TrackDescriptor *descriptor);
/* Writes the first packets of a process, once, before any other of its packets. Returns 1, 0 if
 * there is no room for the process (counted), or -errno. */
int perfetto_begin_process(struct export_writer *w, const struct export_process *process);
uint64_t perfetto_process_uuid(size_t process);
uint64_t perfetto_next_uuid(struct perfetto *state, size_t process);
int32_t perfetto_pid(const struct export_process *process);
/* Returns true the first time that the sequence needs the name, whose iid perfetto_fill_text()
 * sets. */
bool perfetto_must_name(struct perfetto *state, size_t process, size_t name);
uint64_t perfetto_name_iid(size_t name);
void perfetto_fill_text(RtlPerfetto__EventText *text, size_t name, const char *string);
void perfetto_add_names(RtlPerfetto__InternedData *interned, RtlPerfetto__EventText **text,
	RtlPerfetto__GpuSpecification **spec);

/* ---- perfetto_slices.c ---------------------------------------------------------------------- */

int perfetto_put_host_copy(struct export_writer *w, const struct export_copy *copy);
int perfetto_put_call(struct export_writer *w, const struct export_call *call);
int perfetto_put_range(struct export_writer *w, const struct export_range *range);
int perfetto_put_metric(struct export_writer *w, const struct export_metric *metric);
/* Ends the slices that are still open. */
int perfetto_end_slices(struct export_writer *w);

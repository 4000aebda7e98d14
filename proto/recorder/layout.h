/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Layout of the recorder: the sealed memfd of one process, written by its shim, pread by
 * the collector only after the process died. docs/recorder.md is the protocol; the words
 * (slot, cell, P, hw) are its. Offsets come from the header, so that a reader needs no
 * constant of the writer beyond RECORDER_LAYOUT. All fields little-endian, native x86-64.
 *
 * The writer uses the _Atomic members through <stdatomic.h>; a reader copies structs with
 * pread and may ignore atomicity, since the writer is dead by then.
 */
#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/names/counters.h"

#define RECORDER_MAGIC	0x4352454c54525f5full /* "__RTLERC" */
#define RECORDER_LAYOUT 5u

enum recorder_slot_state {
	SLOT_FREE = 0,
	SLOT_SUBMITTED = 1, /* handed on to the device */
	SLOT_DONE = 2,	    /* times are in it */
	SLOT_ENDED = 3,	    /* the program has seen it end; its harvester has not been there */
};

/*
 * In a slot that is not DONE, end_tick is no tick if it is 0 or has this bit. The other bits differ
 * from one use of the slot to the next, so that a thread that looks at an earlier use can tell.
 */
#define RECORDER_NO_TICK (1ull << 63)

/*
 * One dispatch in flight. Writer: the queue's producer until SUBMITTED, then the harvester; between
 * the two any thread of the program that sees it end writes both ticks, with one
 * compare-and-exchange, and then ENDED, with one of the first 16 bytes. Its last third is the
 * beginning of an AQL packet as it was, except where our own fields lie over packet fields that say
 * nothing of the kernel: a producer copies it in two moves, and only readers take it apart.
 */
struct recorder_slot {
	_Atomic uint16_t state; /* enum recorder_slot_state */
	uint16_t queue;		/* index of the queue block */
	uint32_t node;		/* position among the dispatches of its host call */
	uint64_t seq;		/* within the queue */
	_Atomic uint64_t frame; /* 0, or the only frame that holds or will hold this record */
	uint64_t submit_ns;	/* CLOCK_BOOTTIME */
	/*
	 * While SUBMITTED: the kernel object, which matters while symbol is 0. When DONE: ticks of
	 * the GPU. When ENDED: the kernel object where symbol is 0 or end_tick is none, else ticks.
	 */
	uint64_t start_tick;
	uint64_t end_tick; /* when DONE, or ENDED; RECORDER_NO_TICK */
	uint64_t marker;   /* innermost open range of the submitting thread; 0: none */
	uint32_t call;	   /* low half of the id of the host call that caused it; 0: none */
	uint32_t tid;	   /* submitting thread */
	/* From here on in a packet's places. */
	uint32_t symbol; /* id in the define log; 0: unknown. A packet's header lies here */
	uint16_t workgroup[3];
	uint8_t untimed; /* enum rtl_untimed, when DONE. Reserved in a packet, as the next */
	uint8_t reserved;
	uint32_t grid[3]; /* work-items */
	uint32_t scratch; /* bytes */
	uint32_t lds;	  /* bytes */
};
static_assert(sizeof(struct recorder_slot) == 96, "slot");
static_assert(offsetof(struct recorder_slot, seq) == 8 &&
		      offsetof(struct recorder_slot, start_tick) % 16 == 0 &&
		      offsetof(struct recorder_slot, end_tick) % 16 == 8 &&
		      sizeof(struct recorder_slot) % 16 == 0,
	"compared and exchanged in pairs");
/* A packet's first bytes, to the kernel object. */
#define RECORDER_SLOT_PACKET_BYTES 32u
static_assert(offsetof(struct recorder_slot, symbol) + RECORDER_SLOT_PACKET_BYTES ==
		      sizeof(struct recorder_slot),
	"slot");

/* It could not be told: packets of the same call were lost sight of. */
#define RECORDER_NODE_UNKNOWN UINT32_MAX

/* The whole id of the call whose low half a slot has; @newest: an id less than 2^31 away from it,
 * such as the counter calls_begun. 0: none. */
static inline uint64_t recorder_call_id(uint32_t low, uint64_t newest)
{
	return low ? newest + (uint64_t)(int64_t)(int32_t)(low - (uint32_t)newest) : 0;
}

/* One outbox cell; the frame's bytes as sent (with their u32 length) follow it. */
struct recorder_cell {
	_Atomic uint64_t number; /* 0 while it is written; F publishes it (step P) */
	uint32_t length;	 /* of the bytes that follow, the u32 prefix included */
	uint32_t checksum;	 /* checksum32() of them, seeded with the number */
	uint32_t records;
	uint32_t reserved[11];
};
static_assert(sizeof(struct recorder_cell) == 64, "cell");

/*
 * Host-side events that are not dispatches lie in bounded rings of many producers. Entry i
 * of position p = i + k * count may be written while turn == p - i, and is whole when
 * turn == p - i + 1 (so zeroed memory is a ring at position 0). `frame` is as in a slot: labelled
 * in step L, the entry is given back (turn = p - i + count) in step R. A drain stores the whole
 * entries whose frame is 0 or was not published, oldest position first.
 */
struct recorder_event {
	_Atomic uint64_t turn;
	_Atomic uint64_t frame;
};

struct recorder_marker {
	struct recorder_event event;
	uint64_t id;
	uint64_t parent;
	uint64_t time_ns; /* CLOCK_BOOTTIME */
	uint32_t tid;
	uint16_t kind; /* enum rtl_marker_kind */
	uint16_t bytes;
	char text[1024]; /* not terminated */
	uint8_t reserved[16];
};
static_assert(sizeof(struct recorder_marker) == 1088, "marker");

enum recorder_call_kind {
	RECORDER_CALL_HOST = 1,	  /* a HIP function, on its return */
	RECORDER_CALL_COLLECTIVE, /* an RCCL function, on its return */
	RECORDER_CALL_COPY,	  /* an asynchronous copy of the HSA runtime, on its submission */
	RECORDER_CALL_COPY_TIMES, /* start_ns, end_ns: when copy `id` ran on the GPU */
	RECORDER_CALL_KINDS,
};

struct recorder_call {
	struct recorder_event event;
	uint64_t id;	 /* of the process, from 1; host calls and collectives share the sequence */
	uint64_t parent; /* host call around it; 0: none */
	uint64_t start_ns; /* CLOCK_BOOTTIME */
	uint64_t end_ns;
	uint64_t marker; /* innermost open range of the thread; 0: none */
	uint64_t stream;
	uint32_t tid;
	int32_t result;
	uint16_t api; /* enum of the kind's table: host_calls.h, collectives.h, copies.h */
	uint8_t kind; /* enum recorder_call_kind */
	uint8_t reserved[5];
	uint64_t arg[14]; /* as the kind's table says */
};
static_assert(sizeof(struct recorder_call) == 192, "call");

/* Counters of one queue; producer's and harvester's words on different cache lines. */
struct recorder_queue {
	_Atomic uint64_t producer[16]; /* RTL_QUEUE_COUNTERS_PRODUCER, from 0 */
	_Atomic uint64_t
		harvester[16];	 /* RTL_QUEUE_COUNTERS_HARVESTER, from RTL_Q_HARVESTER_FIRST */
	_Atomic uint32_t in_use; /* 1 once it was given to a queue */
	uint32_t gpu;		 /* index in Hello.gpus */
	uint64_t hsa_queue_id;
	uint64_t reserved[6];
};
static_assert(sizeof(struct recorder_queue) == 320, "queue");
static_assert(RTL_Q_PRODUCER_COUNT <= 16, "producer counters");
static_assert(RTL_Q_COUNT - RTL_Q_HARVESTER_FIRST <= 16, "harvester counters");

struct recorder_anchor {
	uint64_t tick;
	uint64_t boottime_ns;
	uint64_t realtime_ns;
	uint64_t error_ns; /* bound on how far tick and boottime_ns are apart; 0: unknown */
};

/* Anchors of one GPU: a ring, `count` ever written; entry i lives in [i % RECORDER_ANCHORS]. */
struct recorder_anchors {
	_Atomic uint64_t count; /* raised after the entry is whole */
	uint64_t tick_hz;
	uint64_t reserved[2];
	struct recorder_anchor entry[16];
};
static_assert(sizeof(struct recorder_anchors) == 544, "anchors");

/* A region: `count` elements of `stride` bytes from `offset`. */
struct recorder_region {
	uint64_t offset;
	uint32_t count;
	uint32_t stride;
};

struct recorder_header {
	uint64_t magic;
	uint32_t layout;
	uint32_t header_bytes;
	uint64_t total_bytes;
	struct recorder_region slots;
	struct recorder_region cells; /* stride includes struct recorder_cell */
	struct recorder_region queues;
	struct recorder_region anchors;	    /* one struct recorder_anchors per GPU */
	struct recorder_region defines;	    /* count bytes of stride 1 */
	struct recorder_region markers;	    /* struct recorder_marker */
	struct recorder_region calls;	    /* struct recorder_call */
	struct recorder_region spare_calls; /* struct recorder_call: when `calls` fills up */
	struct recorder_region hello; /* count bytes of stride 1: the Hello frame as it is sent */
	uint8_t boot_id[16];
	uint8_t token[16];
	int64_t pid;
	uint64_t start_time; /* field 22 of /proc/self/stat */
	uint64_t reserved[4];

	/* Published by the shim while it runs. */
	_Atomic uint64_t ready;	       /* 1 once everything above is valid */
	_Atomic uint64_t define_bytes; /* of the define log: whole frames (u32 length + Frame) */
	_Atomic uint64_t slots_used;   /* slots ever handed out: a drain reads no further */
	_Atomic uint64_t queues_used;  /* likewise queue blocks */
	_Atomic uint64_t published;    /* last frame published; cell numbers are the authority */
	_Atomic uint64_t bye;	       /* 1: clean end, nothing in flight, all frames published */
	_Atomic uint64_t spare_calls_used; /* entries ever taken: a drain reads no further */
	_Atomic uint64_t hello_bytes; /* 0: not written yet; with it a reader needs no process */
	_Atomic uint64_t process[64]; /* RTL_PROCESS_COUNTERS */
};
static_assert(RTL_P_COUNT <= 64, "process counters");
static_assert(sizeof(struct recorder_header) <= 4096, "header page");

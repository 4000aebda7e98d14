/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The structures behind capture.h, for the capture path only. Each field names its one writer.
 * Lists of slots are chains through slot_private.next; a slot is in one list at a time:
 *
 *   queue.free -> (producer) -> trail -> (harvester) -> in_flight -> done -> frame
 *   -> queue.returned -> (producer) -> queue.free or queue.spare
 *
 * One side pushes to `returned` with a CAS and the other takes all of it with an exchange, so there
 * is no ABA problem, no capacity, and any order of completion.
 *
 * The trail is a list from queue.first on through slot_private.link. The producer writes a link
 * once the next slot is filled: a single store, whichever threads read meanwhile. The harvester
 * remembers how far it has read (reached), and must not free that slot until another one follows.
 * It unlinks slots that are DONE, so the list leads from queue.first over what is in flight (and
 * over reached). Threads that have seen a dispatch end (ends.c) follow it without a lock. Before a
 * slot that was unlinked may be used again, the harvester raises queue.changes.
 */
#include <stdalign.h>

#include "shim/base/gate.h"
#include "shim/base/tsc_clock.h"
#include "shim/capture/capture.h"
#include "shim/capture/frames.h"
#include "shim/capture/pacing.h"

/* A reference to a slot: its index + 1; 0 for none. */
typedef uint32_t slot_ref;

enum slot_kind {
	SLOT_INJECTED, /* our signal is in the packet */
	SLOT_APP,      /* the application's signal, which is only read */
	SLOT_PLAIN,    /* no signal to read: untimed for the reason in slot_private.why */
};

/* State of an injected signal that has fired without usable times, or that should have fired. */
enum slot_phase {
	PHASE_NONE,
	PHASE_SUSPECT, /* a later barrier packet has fired (docs/capture.md, missed packets) */
	PHASE_NO_TIME, /* fired; its times are not there yet */
};

/*
 * The private half of a slot. Writer: the producer until the slot is on the trail, then the
 * harvester; start, end and why also the holder of the claim (app_signals.h).
 */
struct slot_private {
	_Atomic uint64_t claim;	     /* generation and state, see app_signals.h */
	_Atomic uint64_t app_handle; /* the application's signal while SLOT_APP */
	uint64_t injected;	     /* our signal, the same for the life of the slot; harvester */
	_Atomic int64_t target;	     /* SLOT_APP: finished when the value is at or below this */
	uint64_t start, end;	     /* SLOT_APP: ticks, valid from EARLY on */
	uint32_t since;		     /* start of the phase; harvest.c, since_now() */
	/* Next dispatch of the queue, 0 if none; written by the producer, then by the harvester. */
	_Atomic slot_ref link;
	slot_ref next;
	union {
		struct {
			uint8_t kind;	     /* enum slot_kind */
			uint8_t has_barrier; /* barrier bit of the packet's header */
			uint8_t why;	     /* enum rtl_untimed, as decided so far */
			uint8_t phase;	     /* enum slot_phase */
		};
		uint32_t begin; /* all four at once, for a dispatch with our signal */
	};
};
/* has_barrier is then not 0 or 1 but this bit of the packet's header. */
#define SLOT_BEGIN_MASK (1u << HSA_PACKET_HEADER_BARRIER)
static_assert(!SLOT_INJECTED && !PHASE_NONE && !RTL_TIMED && HSA_PACKET_HEADER_BARRIER == 8,
	"slot_private.begin");

static_assert(sizeof(struct slot_private) == CACHE_LINE_BYTES, "slot_private");

struct slot_list {
	slot_ref head;
	slot_ref tail;
	uint32_t count;
};

enum queue_state {
	QUEUE_UNUSED,
	QUEUE_LIVE,
	QUEUE_RETIRED, /* destroyed; its block may be used for another queue of the same GPU */
};

struct capture_queue {
	/* Constant while LIVE. */
	alignas(CACHE_LINE_BYTES) struct recorder_queue *block;
	const _Atomic uint64_t *gate; /* whether its packets are recorded now: gate.h */
	uint32_t index;
	uint32_t gpu;
	uint32_t ring_packets;
	_Atomic uint32_t state; /* enum queue_state; harvest lock */

	/* Owned by the producer, which holds the walk. */
	alignas(CACHE_LINE_BYTES) slot_ref free;
	slot_ref spare;		 /* used if free and returned are empty; not in the cache */
	_Atomic uint64_t taken;	 /* number of slots ever taken */
	_Atomic slot_ref *trail; /* where to link the next slot */
	/* Slot of the dispatch in progress, 0 if none yet; shows a rescue how far it came. */
	slot_ref taking;
	struct ticks ticks;
	_Atomic uint32_t extra; /* slots that it took from the ready lots, or made itself */
	/* Until then no inline harvest is tried, since the last one freed nothing. */
	uint64_t dry_until_ns;

	alignas(CACHE_LINE_BYTES) _Atomic slot_ref returned;

	/* Owned by the holder of the harvest lock. */
	/* Last slot read from the trail; 0 if none yet. */
	alignas(CACHE_LINE_BYTES) slot_ref reached;
	/* Start of the trail, 0 if none; written once by the producer, then by the harvester. */
	_Atomic slot_ref first;
	_Atomic uint64_t changes; /* number of changes of the trail other than appending */
	/*
	 * Written by ends.c on any thread: dispatches up to here have ended, as a thread has found.
	 * 0 if none.
	 */
	_Atomic uint64_t ended;
	bool is_reached_freed; /* `reached` has been freed since */
	struct slot_list in_flight;
	struct slot_list done;
	uint32_t owned;	  /* slots that were given to this queue */
	slot_ref witness; /* slot in flight that is checked where a scan ends early; 0 if none */
	uint64_t barrier_fired; /* numbers below this had completed by the last pass */
	uint64_t taken_paced;	/* `taken` at that time */

	/* Owned by the shim thread, which uses it before it takes the harvest lock. */
	uint64_t taken_seen;
};

/* Lots kept ready for new queues and for queues that run dry: 2 MB, signals included. */
#define READY_LOTS	 8u
/* Application signals watched at a time; one bucket is one cache line. */
#define APPSIG_BUCKETS	 4096u
#define APPSIG_WAYS	 8u
/*
 * Places for signals whose times came late. A signal whose place another one has taken is only
 * waited for longer than necessary.
 */
#define LATE_SIGNALS	 512u
/* Threads that can read application signals at the same time; each needs a few loads. */
#define APPSIG_OBSERVERS 64u
/* Slots whose signals are allocated at once: 256 KiB. */
#define SIGNALS_OF_CHUNK 4096u
#define SIGNAL_CHUNKS	 32u
/* Signals that the device may still write to, kept out of use for a while. */
#define QUARANTINE_MAX	 4096u

struct quarantined {
	slot_ref slot;
	uint64_t until_ns;
};

struct intercept_queue;
struct origins;

/* What the other files of this folder ask of the walks over queues, which front_ends/shadow.c
 * makes. */
struct walks {
	/*
	 * Walks every queue whose doorbell was rung too early or not through the hooks. Called in
	 * each pass of the harvester.
	 */
	void (*housekeep)(struct capture *c);
	/*
	 * Takes the free slots of the producer of block @block, as two chains; 0 if there are none,
	 * or if a thread is walking the queue. Called by the holder of the harvest lock. If a
	 * doorbell rings meanwhile, harvest_lock_release() makes that walk.
	 */
	void (*take_free)(struct capture *c, uint32_t block, slot_ref ret[2]);
	/* @owed is the block + 1 of a queue whose walk take_free() has left held. */
	void (*walk_owed)(struct capture *c, uint32_t owed);
	/* The notes of the threads that submit to the queue of block @block. */
	struct origins *(*origins_of)(struct capture *c, uint32_t block);
};

struct capture {
	struct capture_head head;
	struct recorder recorder;
	struct capture_hsa hsa;
	struct slot_private *slots;		 /* RECORDER_SLOTS */
	struct capture_queue *queues;		 /* RECORDER_QUEUES */
	struct intercept_queue *intercept;	 /* RECORDER_QUEUES */
	_Atomic uint64_t (*appsig)[APPSIG_WAYS]; /* APPSIG_BUCKETS */
	_Atomic uint32_t has_appsigs; /* an entry was ever made; while 0, no look-up is needed */
	/* A packet or copy wrote to a signal without an entry: app_signals.c. */
	_Atomic uint32_t has_unwatched;
	_Atomic uint32_t has_late; /* a signal fired before its times were there */

	/* Dispatches take the slow path (is_stopped, count_unlinked, packet_note). */
	_Atomic uint32_t is_careful;
	_Atomic uint32_t is_stopped;
	/*
	 * Held during each pass of the harvester, the only one that accesses the runtime's memory.
	 */
	_Atomic uint32_t pass_lock;
	bool is_detached; /* protected by pass_lock: the runtime is gone */

	/*
	 * Our own signals, by chunk of slots; set once a slot of the chunk has a signal: signals.c.
	 */
	struct amd_signal_s *_Atomic signal_chunk[SIGNAL_CHUNKS];
	/*
	 * All our signals are at or above ~signals_before and below signals_end; both values only
	 * grow.
	 */
	_Atomic uint64_t signals_before, signals_end;
	uint32_t signal_chunks_kept; /* bit set of chunks that are not freed at the end */

	/*
	 * Chains of RECORDER_SLOT_CHUNK slots with signals. Put there under the harvest lock; any
	 * producer takes a whole chain with an exchange.
	 */
	alignas(CACHE_LINE_BYTES) _Atomic slot_ref ready[READY_LOTS];

	_Atomic uint32_t coop_lock; /* front_end.c: protects the holders of cooperative queues */

	/* Number of threads inside ends_look(), and whether it is closed (ends_stop). */
	alignas(CACHE_LINE_BYTES) _Atomic uint32_t lookers;
	_Atomic uint32_t is_closed;

	alignas(CACHE_LINE_BYTES) _Atomic uint32_t harvest_lock;
	/* The rest is owned by the holder of the harvest lock. */
	/* Block + 1 of a queue whose walk is held and must be done; 0 if none. */
	uint32_t walk_owed;
	uint32_t queues_live;
	struct slot_list loose; /* free slots that belong to no queue */
	/* Slots freed for freed_queue and not pushed yet; the end of the list is not marked. */
	struct slot_list freed;
	struct capture_queue *freed_queue;
	uint64_t uses;	  /* number of uses of slots, which end_tick holds until there is an end */
	uint64_t now_ns;  /* time of the current pass */
	bool is_deciding; /* this is the last pass: times that are not there now are given up */
	/* Application signal that the harvester is reading; 0 if none. */
	_Atomic uint64_t appsig_read;
	uint32_t done_total;
	uint64_t done_since_ns;		/* since then the oldest finished record has been waiting */
	uint64_t active_ns;		/* time of the last activity */
	uint32_t next_queue;		/* so that frames start with another queue each time */
	struct quarantined *quarantine; /* ring of QUARANTINE_MAX */
	uint32_t quarantine_head, quarantine_tail;
	struct pace pace;	 /* of harvest passes; also under pass_lock */
	_Atomic uint64_t framed; /* number of records that have left their slots */
	struct batch batch;
	/* Signals that observers (ends.c) are reading; 0 if none. */
	_Atomic uint64_t appsig_observed[APPSIG_OBSERVERS];
	/* By hash of the handle, written by any thread: app_signals.c. */
	_Atomic uint64_t late_signals[LATE_SIGNALS];
	const struct walks *walks; /* constant */
};

/* For @ref 0 this returns an address too, which must not be read. */
static inline struct slot_private *slot_private_of(struct capture *c, slot_ref ref)
{
	return c->slots + ref - 1;
}

static inline struct recorder_slot *slot_of(struct capture *c, slot_ref ref)
{
	return c->recorder.slots + ref - 1;
}

/* Appends the chain @first ... @last of @count slots; overwrites the next of @last. */
static inline void slot_list_append_chain(
	struct capture *c, struct slot_list *list, slot_ref first, slot_ref last, uint32_t count)
{
	slot_private_of(c, last)->next = 0;
	if (list->tail)
		slot_private_of(c, list->tail)->next = first;
	else
		list->head = first;
	list->tail = last;
	list->count += count;
}

static inline void slot_list_append(struct capture *c, struct slot_list *list, slot_ref ref)
{
	slot_list_append_chain(c, list, ref, ref, 1);
}

/* Puts the chain @first ... @last in front of the one at @head. */
static inline void slot_chain_push(
	struct capture *c, _Atomic slot_ref *head, slot_ref first, slot_ref last)
{
	slot_ref old = atomic_load_explicit(head, memory_order_relaxed);

	do
		slot_private_of(c, last)->next = old;
	while (!atomic_compare_exchange_weak_explicit(
		head, &old, first, memory_order_release, memory_order_relaxed));
}

/* queues.c, cold: a block and slots for a queue of @gpu, or NULL. Waits for the harvest lock. */
struct capture_queue *capture_queue_new(
	struct capture *c, uint32_t gpu, uint32_t ring_packets, uint64_t hsa_queue_id);

/* queues.c: the harvest lock. The dispatch path never waits for it. */
bool harvest_lock_try(struct capture *c);
void harvest_lock_wait(struct capture *c);
void harvest_lock_release(struct capture *c);

static inline bool queue_is_live(const struct capture_queue *q)
{
	return atomic_load_explicit(&q->state, memory_order_relaxed) == QUEUE_LIVE;
}

static inline uint32_t queue_owned(const struct capture_queue *q)
{
	return q->owned + atomic_load_explicit(&q->extra, memory_order_relaxed);
}

static inline bool queue_is_dormant(const struct capture_queue *q)
{
	return !gate_is_open(gate_load(q->gate));
}

/*
 * Whether the queue needs no slots: nothing of it will be recorded before the shim thread opens the
 * gate, and then makes slots at once. A dispatch that comes sooner makes its own.
 */
static inline bool queue_needs_none(const struct capture_queue *q)
{
	return gate_is_shut(gate_load(q->gate));
}

/* slots.c; called under the harvest lock unless said otherwise. */
/* Takes a prepared lot, or returns 0. No lock, no call into the runtime: for the dispatch path. */
slot_ref pool_take_ready(struct capture *c);
/*
 * Makes a few slots, with signals, for the queue whose walk the caller holds: the last resort
 * before a dispatch is dropped. Takes no lock of ours; the runtime may allocate memory. 0 if none
 * are left.
 */
slot_ref pool_grow(struct capture *c, struct capture_queue *q);
/*
 * Makes one lot for a queue that is short of slots, or to keep ready. Returns false if there is
 * nothing to do or nothing left. Takes the harvest lock itself, for a short time.
 */
bool pool_provide(struct capture *c);
/* Gives a new queue its first slots; spends at most a millisecond on making them. */
void pool_begin(struct capture *c, struct capture_queue *q);
/* Step R: the records of @refs are in a published frame. Call pool_flush() after the last. */
void pool_slots_free(struct capture *c, const slot_ref *refs, uint32_t n);
/* Returns a FREE slot whose signal was reset to its queue, or to another queue that needs slots. */
void pool_slot_return(struct capture *c, slot_ref ref);
void pool_flush(struct capture *c);
void pool_quarantine_end(struct capture *c);
/* Takes back the free slots of @q. */
void pool_retire(struct capture *c, struct capture_queue *q);
void pool_release(struct capture *c);

/*
 * harvest.c, cold, before and after the original destroy; the caller holds the walk and keeps it.
 */
void harvest_queue_release(struct capture *c, struct capture_queue *q);
void harvest_queue_retire(struct capture *c, struct capture_queue *q);
/* harvest.c, from a dispatch that finds no free slot; never waits (rule 9). */
bool harvest_queue_inline(struct capture *c, struct capture_queue *q, uint64_t now_ns);
/*
 * harvest.c, cold, for the holder of the walk: whether @ref, which its producer took, is the last
 * slot on the trail.
 */
bool harvest_has_reached(struct capture *c, struct capture_queue *q, slot_ref ref);

/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Inside of the capture path only (capture, dispatch, shadow, appsig, harvest, batch): the
 * structures behind capture.h. Each field names its one writer. Lists of slots are chains
 * through slot_private.next; a slot is in one list at a time:
 *
 *   queue.free -> (producer) -> the queue's trail -> (harvester) -> in_flight -> done -> frame
 *   -> queue.returned -> (producer) -> queue.free or queue.spare
 *
 * returned is pushed with a CAS by one side and taken whole with an exchange by the other: no ABA,
 * no capacity, any order of completion.
 *
 * The trail is a list from the queue's first slot on through slot_private.link, which the producer
 * writes once the next slot is filled: one store, whoever looks meanwhile. The harvester remembers
 * where it is (reached) and may give that slot away to nobody until there is one behind it. It
 * takes what is DONE out of that list, so that it leads from queue.first over what is in flight
 * (and over reached): the way of threads that have seen something end (ends.c), which hold no lock.
 * Before a slot that was taken out can be used again the harvester raises queue.changes.
 */
#include <stdalign.h>

#include "shim/capture/batch_state.h"
#include "shim/capture/capture.h"
#include "shim/base/gate.h"
#include "shim/capture/pacing.h"
#include "shim/base/tsc_clock.h"

/* A reference to a slot: its index + 1; 0: none. */
typedef uint32_t slot_ref;

enum slot_kind {
	SLOT_INJECTED, /* our signal is in the packet */
	SLOT_APP,      /* the application's signal, only read */
	SLOT_PLAIN,    /* nothing will tell: untimed by slot_private.why */
};

/* What a fired signal without usable times, or a silent one, has gone through. */
enum slot_phase {
	PHASE_NONE,
	PHASE_SUSPECT, /* a later barrier packet has fired (docs/shadow.md, 5) */
	PHASE_NO_TIME, /* fired, times not there yet */
};

/* The shim's own half of a slot. Writer: the producer until the chain is pushed, then the
 * harvester; start, end and why also whoever holds the claim (app_signals.h). */
struct slot_private {
	_Atomic uint64_t claim;	     /* app_signals.h: generation and who may read the signal */
	_Atomic uint64_t app_handle; /* the application's signal while SLOT_APP */
	uint64_t injected;	     /* our signal, 1:1 with the slot for ever; harvester */
	_Atomic int64_t target;	     /* SLOT_APP: finished when the value is at or below */
	uint64_t start, end;	     /* SLOT_APP, ticks, from EARLY on */
	uint32_t since;		     /* of the phase; harvest.c, since_now() */
	_Atomic slot_ref link; /* the queue's next dispatch; 0: none yet. The producer; once there
				* is one the harvester */
	slot_ref next;
	union {
		struct {
			uint8_t kind;	     /* enum slot_kind */
			uint8_t has_barrier; /* barrier bit of the packet */
			uint8_t why;	     /* enum rtl_untimed decided so far */
			uint8_t phase;	     /* enum slot_phase */
		};
		uint32_t begin; /* all four, as of a dispatch with a signal of ours */
	};
};
/* has_barrier then is that bit of the packet's header. */
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
	QUEUE_RETIRED, /* destroyed; its block may serve another queue of the same GPU */
};

struct capture_queue {
	/* Constant while LIVE. */
	alignas(CACHE_LINE_BYTES) struct recorder_queue *block;
	const _Atomic uint64_t *gate; /* whether its packets are recorded now: gate.h */
	uint32_t index;
	uint32_t gpu;
	uint32_t ring_packets;
	_Atomic uint32_t state; /* enum queue_state; harvest lock */

	/* The producer's: holder of the walk. */
	alignas(CACHE_LINE_BYTES) slot_ref free;
	slot_ref spare;		 /* for when neither free nor returned has any: not in the cache */
	_Atomic uint64_t taken;	 /* slots ever taken */
	_Atomic slot_ref *trail; /* where the next one is to be linked */
	slot_ref taking;	 /* the dispatch that is under way takes it; 0: none yet */
	struct ticks ticks;
	_Atomic uint32_t extra; /* slots that it took from the ready lots or made */
	uint64_t dry_until_ns;	/* the last inline harvest gave nothing */

	alignas(CACHE_LINE_BYTES) _Atomic slot_ref returned;

	/* The harvester's: holder of the harvest lock. */
	alignas(CACHE_LINE_BYTES) slot_ref reached; /* last one taken off the trail; 0: none yet */
	_Atomic slot_ref
		first; /* of the trail; 0: none yet. The producer, once; then the harvester */
	_Atomic uint64_t changes; /* of the trail, but for what was appended */
	/* ends.c, any thread: so far all have ended, as one that has looked knows. 0: none. */
	_Atomic uint64_t ended;
	bool is_reached_back;			    /* it has been given back since */
	struct slot_list in_flight;
	struct slot_list done;
	uint32_t owned;		/* slots given to this queue */
	slot_ref witness;	/* in flight, asked where a scan ends early; 0: none */
	uint64_t barrier_fired; /* numbers before this had to be complete, as of the last pass */
	uint64_t taken_paced;	/* taken, as of then */

	/* The shim's thread's, before it takes that lock. */
	uint64_t taken_seen;
};

/* Kept ready, for a new queue and for one that runs dry: 2 MB, signals included. */
#define READY_LOTS	 8u
/* Application signals watched at a time; one bucket is one cache line. */
#define APPSIG_BUCKETS	 4096u
#define APPSIG_WAYS	 8u
/* One that is forgotten for another's sake is waited for longer than it is worth. */
#define LATE_SIGNALS	 512u
/* Threads that read an application's signal at one moment, for a few loads each. */
#define APPSIG_OBSERVERS  64u
/* Slots whose signals are got from the runtime at once: 256 KiB of them. */
#define SIGNALS_OF_CHUNK 4096u
#define SIGNAL_CHUNKS	 32u
/* HIP's rings have so many packets; who asks for a longer one is about to fill it. */
#define RING_PACKETS_LONG 16384u
/* Signals that may still be written to: kept out of use for a while. */
#define QUARANTINE_MAX	 4096u

struct quarantined {
	slot_ref slot;
	uint64_t until_ns;
};

struct intercept_queue;

struct capture {
	struct capture_head head;
	struct recorder recorder;
	struct capture_hsa hsa;
	struct slot_private *slots;		 /* RECORDER_SLOTS */
	struct capture_queue *queues;		 /* RECORDER_QUEUES */
	struct intercept_queue *intercept;	 /* RECORDER_QUEUES */
	_Atomic uint64_t (*appsig)[APPSIG_WAYS]; /* APPSIG_BUCKETS */
	_Atomic uint32_t has_appsigs;		 /* there was ever an entry; 0 spares the look-up */
	_Atomic uint32_t has_unwatched;		 /* ... and a packet without one: app_signals.c */
	_Atomic uint32_t has_late;		 /* a signal fell before its times were there */

	_Atomic uint32_t is_careful; /* dispatches: the long way (is_stopped, count_unlinked) */
	_Atomic uint32_t is_stopped;
	/* Held through each pass of the harvester, the only one that touches the runtime's memory.
	 */
	_Atomic uint32_t pass_lock;
	bool is_detached; /* under pass_lock: the runtime is gone */

	/* Ours, once a slot of the chunk has had one: signals.c. */
	struct amd_signal_s *_Atomic signal_chunk[SIGNAL_CHUNKS];
	/* All of them lie from ~signals_before on and before signals_end: both only grow. */
	_Atomic uint64_t signals_before, signals_end;
	uint32_t signal_chunks_kept; /* a bit each; at the end */

	/* Chains of RECORDER_SLOT_CHUNK slots with signals: put under the harvest lock, taken
	 * whole with an exchange by any producer. */
	alignas(CACHE_LINE_BYTES) _Atomic slot_ref ready[READY_LOTS];
	/* long_ring.h: the packets of one that the runtime makes just now; of one that the shim's
	 * thread has not heard of yet. */
	_Atomic uint32_t ring_expected, ring_news;

	_Atomic uint32_t holders_lock; /* front_end.c: how many have a queue */

	/* Threads inside of ends_look(); whether it has come to its end (ends_stop). */
	alignas(CACHE_LINE_BYTES) _Atomic uint32_t lookers;
	_Atomic uint32_t is_closed;

	alignas(CACHE_LINE_BYTES) _Atomic uint32_t harvest_lock;
	/* Below: holder of the harvest lock. */
	uint32_t walk_owed; /* block + 1 of a queue whose walk is held and due; 0: none */
	uint32_t queues_live;
	struct slot_list loose; /* of retired queues */
	struct slot_list back; /* freed, all of back_queue, not yet pushed; its end is not marked */
	struct capture_queue *back_queue;
	uint64_t uses;		      /* of slots: what end_tick holds until there is one */
	uint64_t now_ns;	      /* of the pass that is running */
	bool is_deciding;	      /* it is the last: times that are not there do not come */
	_Atomic uint64_t appsig_read; /* the application's signal that is being read; 0: none */
	uint32_t done_total;
	uint64_t done_since_ns;		/* the oldest finished record waits since */
	uint64_t active_ns;		/* something happened */
	uint32_t next_queue;		/* frames start with another queue each time */
	struct quarantined *quarantine; /* ring of QUARANTINE_MAX */
	uint32_t quarantine_head, quarantine_tail;
	struct pace pace;	 /* of passes; under pass_lock, too */
	_Atomic uint64_t framed; /* records that left their slots */
	struct batch batch;
	/* Signals that are being read by who has seen something end; 0: none. */
	_Atomic uint64_t appsig_observed[APPSIG_OBSERVERS];
	/* By handle, of any thread: app_signals.c. */
	_Atomic uint64_t late_signals[LATE_SIGNALS];
};

/* Of none an address, too, that nobody may look at. */
static inline struct slot_private *slot_private_of(struct capture *c, slot_ref ref)
{
	return c->slots + ref - 1;
}

static inline struct recorder_slot *slot_of(struct capture *c, slot_ref ref)
{
	return c->recorder.slots + ref - 1;
}

/* All of the chain @first ... @last, @count of them; what @last's next says does not matter. */
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

/* Puts the chain @first ... @last before what @head holds. */
static inline void slot_chain_push(
	struct capture *c, _Atomic slot_ref *head, slot_ref first, slot_ref last)
{
	slot_ref old = atomic_load_explicit(head, memory_order_relaxed);

	do
		slot_private_of(c, last)->next = old;
	while (!atomic_compare_exchange_weak_explicit(
		head, &old, first, memory_order_release, memory_order_relaxed));
}

/* capture.c, cold: a block and slots for a queue of @gpu, or NULL. Waits for the harvest
 * lock. */
struct capture_queue *capture_queue_new(
	struct capture *c, uint32_t gpu, uint32_t ring_packets, uint64_t hsa_queue_id);

/* capture.c: the harvest lock. Never waited for on the dispatch path. */
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
 * It needs no slots: nothing of it is ever recorded, or not before the shim's thread says so, which
 * then makes them at once. Dispatches that come sooner make their own.
 */
static inline bool queue_needs_none(const struct capture_queue *q)
{
	return gate_is_shut(gate_load(q->gate));
}

/* slots.c, under the harvest lock unless said. */
/* A prepared lot, or 0. No lock, no call into the runtime: for the dispatch path. */
slot_ref pool_take_ready(struct capture *c);
/*
 * Some never used before, signals and all, for the queue whose walk is held: what a dispatch does
 * before it gives up. No lock of ours; the runtime may allocate memory. 0: there are none left.
 */
slot_ref pool_grow(struct capture *c, struct capture_queue *q);
/* One lot for a queue that is short of slots, or to have ready. False: nothing to do or to
 * give. Takes the harvest lock itself, not for long. */
bool pool_provide(struct capture *c);
/* Some for a queue whose ring is long, or for whoever is about to have one. Likewise. */
bool pool_make_ring(struct capture *c);
/* Without the lock: the slots of lots that a new queue will have and use at once. */
void pool_touch_ready(struct capture *c);
/* What a new queue starts with; at most a millisecond's worth is made for it. */
void pool_begin(struct capture *c, struct capture_queue *q);
/* Step R: the records of @refs are in a published frame. pool_flush() after the last. */
void pool_slots_free(struct capture *c, const slot_ref *refs, uint32_t n);
/* Its signal is as new, it is FREE: back to its queue, or to whoever needs slots. */
void pool_slot_return(struct capture *c, slot_ref ref);
void pool_flush(struct capture *c);
void pool_quarantine_end(struct capture *c);
/* Takes back what @q has free. */
void pool_retire(struct capture *c, struct capture_queue *q);
void pool_release(struct capture *c);

/* harvest.c, cold, around the original destroy; the caller holds the walk for ever. */
void harvest_queue_release(struct capture *c, struct capture_queue *q);
void harvest_queue_retire(struct capture *c, struct capture_queue *q);
/* harvest.c, from a dispatch without a free slot; tries only (rule 9). */
bool harvest_queue_inline(struct capture *c, struct capture_queue *q, uint64_t now_ns);
/* harvest.c, cold, for the holder of the walk: whether @ref, one of its producer's, is the last on
 * the trail. */
bool harvest_has_reached(struct capture *c, struct capture_queue *q, slot_ref ref);

/* SPDX-License-Identifier: MIT */
/*
 * One recorder, for spin: every interleaving and crash point of small bounds (docs/recorder.md,
 * section 9). Slots torn by a death, ring entries of two kinds, frames, cells, one connection, the
 * collector's open transaction, and the drain. The recorder outlives both sides here; whether it
 * does is the matter of recovery.pml.
 *
 * One step is what the code does between two points where a SIGKILL makes a difference; the
 * function is named at each. Sets of records are bits: dispatches from 0, then events. A frame is
 * the set of its records. Kills come at any step of any process.
 *
 * The mistakes are seeded with -DMISTAKE_n; each must be found.
 */
#ifndef DISPATCHES
#define DISPATCHES 2
#endif
#ifndef EVENTS
#define EVENTS 1
#endif
#ifndef DEATHS
#define DEATHS 1 /* SIGKILL of the rank; else it ends when all it did is acknowledged */
#endif
#ifndef RESTARTS
#define RESTARTS 1 /* SIGKILL of the collector */
#endif
#ifndef LOSSES
#define LOSSES 1 /* of the connection, both live */
#endif
#ifndef AVAILABLE
#define AVAILABLE 3 /* the slots that there are, as bits */
#endif
#ifndef LOOKERS
#define LOOKERS 0 /* threads of the program that see dispatches end */
#endif
#define SLOTS	2
#define ENTRIES 2
#define CELLS	2

#define BIT(i)	 (1 << (i))
#define EVENT(i) (DISPATCHES + (i))
#define KIND(i)	 ((i) & 1) /* of an event: no frame holds both kinds */
#define MAX(a, b) ((a) > (b) -> (a) : (b))

/* A slot's or an entry's fields are not whole. */
#define TORN 15
/* State of times: being written, and end_tick says that there are none. */
#define NONE 14

#define FREE	  0
#define SUBMITTED 1
#define DONE	  2
#define ENDED	  3

typedef slot {
	byte state;
	byte rec;   /* whose fields it holds, or TORN */
	byte times; /* 0, NONE, TORN, 1 + the dispatch whose they are */
	byte use;   /* what end_tick holds while there are none: another at each use */
	byte frame
}
typedef entry {
	byte turn; /* as in proto/recorder/layout.h: less the entry's index */
	byte rec;
	byte frame
}
typedef cell {
	byte number;
	byte recs
}

/* ---- the recorder ---- */
slot slots[SLOTS];
entry entries[ENTRIES];
cell cells[CELLS];
byte dispatched, dropped_count, dropped_events;

/* ---- memory of the rank that is not read after its death ---- */
bool alive = true;
byte available = AVAILABLE; /* to the producer: shim/capture/slots.c, the chain `returned` */
byte head, tail;    /* struct event_ends */
byte made;	    /* events that a thread has begun */
byte open_frame = 1, published, acked, sent;

/* ---- between the two ---- */
chan wire = [CELLS] of { byte, byte }; /* number, records: the newest connection's */
byte ack;     /* on its way: acknowledgements are cumulative, the newest counts; 0: none */
byte welcome; /* on its way: last_frame + 1; 0: none */
#define AWAY	  0
#define GREETING  1 /* Hello sent, not read */
#define OPENING	  2 /* read: Welcome is due, or on its way */
#define STREAMING 3
byte conn;

/* ---- the collector, and its database ---- */
bool up = true;
byte tx_hw, tx_rows; /* struct process: with what the open transaction holds */
byte committed;	     /* an Ack is due */
byte hw, rows, outstanding;
bool drained;

/* ---- what really happened: no part of the protocol ---- */
byte handed_on; /* dispatches that became the device's */
byte finished;	/* those whose slot was DONE */
byte ended;	/* those that the device has done */
byte seen;	/* those of which the program knows that */
byte whole;	/* events published */

#define STORED_ONCE(set) assert(!(tx_rows & (set)))

/* ---- shim/capture/dispatch.c: dispatch_packet() ---- */
proctype producer()
{
	byte s, rec;

end_next:
	atomic { alive && dispatched < DISPATCHES -> rec = dispatched; dispatched++ }
end_take: /* slot_take(), and the first half of slot_fill() */
	atomic {
		alive ->
		if
		:: !available -> dropped_count++; rec = 0; goto end_next
		:: else -> s = (available & 1 -> 0 : 1)
		fi;
		available = available & ~BIT(s);
#ifdef MISTAKE_1 /* SUBMITTED is stored before the fields */
		slots[s].state = SUBMITTED; slots[s].frame = 0;
		handed_on = handed_on | BIT(rec);
#endif
		slots[s].rec = TORN
	}
end_fill:
	atomic { alive -> slots[s].rec = rec; slots[s].frame = 0 }
end_submit:
	atomic {
		alive ->
#ifndef MISTAKE_1
		slots[s].state = SUBMITTED;
		handed_on = handed_on | BIT(rec);
#endif
		s = 0; rec = 0
	}
	goto end_next
}

/* ---- shim/record/event_ring.c: event_ring_take(), event_ring_publish(); two threads of it ---- */
proctype event_producer()
{
	byte e, rec;

end_next:
	atomic {
		alive && made < EVENTS ->
		rec = EVENT(made);
		e = tail % ENTRIES;
		made++;
		if
		:: entries[e].turn + e != tail -> dropped_events++; rec = 0; e = 0; goto end_next
		:: else -> tail++
		fi
	}
end_fill:
	atomic {
		alive ->
		entries[e].rec = rec;
#ifndef MISTAKE_2 /* the label of the lap before stays */
		entries[e].frame = 0
#endif
	}
end_publish:
	atomic { alive -> entries[e].turn++; whole = whole | BIT(rec); e = 0; rec = 0 }
	goto end_next
}

/* ---- shim/capture/harvest.c and shim/capture/frames.c, for the thread that holds the harvest lock ---- */
#ifdef MISTAKE_3 /* a cell is used again before it was acknowledged */
#define MAY_OPEN true
#else
#define MAY_OPEN (open_frame - acked <= CELLS) /* recorder_frame_open() */
#endif
#define IS_WHOLE(e, at) (entries[e].turn + (e) == (at) + 1)

/* Entries of @kind from the head on, up to the first that is not whole: ring_run(). */
inline pick_events(kind)
{
	i = head;
	do
	:: i == tail || entries[i % ENTRIES].turn + i % ENTRIES == i -> break
	:: else ->
		if
		:: IS_WHOLE(i % ENTRIES, i) && KIND(entries[i % ENTRIES].rec) == kind ->
			picked = picked | BIT(i % ENTRIES);
			set = set | BIT(entries[i % ENTRIES].rec)
		:: else
		fi;
		i++
	od;
	i = 0
}

#define IS_CHAINED(s)                                                                              \
	((slots[s].state == SUBMITTED || slots[s].state == ENDED) && slots[s].rec != TORN)

inline note_done()
{
	slots[s].state = DONE;
	finished = finished | BIT(slots[s].rec)
}

inline give_slot(i)
{
	slots[i].state = FREE; slots[i].times = 0; slots[i].use++
}

inline give_back(e)
{
	entries[e].turn = entries[e].turn - 1 + ENTRIES
}

proctype harvester()
{
	byte s, picked, set, i;

end_idle:
	do
	/* slot_poll() of what slot_hand_over() linked: the signal fired, in whatever order */
	:: atomic { alive && IS_CHAINED(0) -> s = 0; ended = ended | BIT(slots[s].rec); goto end_times }
	:: atomic { alive && IS_CHAINED(1) -> s = 1; ended = ended | BIT(slots[s].rec); goto end_times }
	:: atomic {
		alive && MAY_OPEN && (slots[0].state == DONE || slots[1].state == DONE) ->
		/* frame_pick(), step L, first half */
		cells[open_frame % CELLS].number = 0;
		do
		:: i < SLOTS ->
			if
			:: slots[i].state == DONE ->
				assert(slots[i].rec != TORN && slots[i].times == 1 + slots[i].rec);
				picked = picked | BIT(i);
				set = set | BIT(slots[i].rec)
			:: else
			fi;
			i++
		:: else -> break
		od;
		i = 0;
		goto end_label_slots }
	:: atomic {
		alive && MAY_OPEN && head != tail && IS_WHOLE(head % ENTRIES, head) ->
		pick_events(0);
		if
		:: picked -> cells[open_frame % CELLS].number = 0; goto end_label_entries
		:: else
		fi;
		pick_events(1);
		if
		:: picked -> cells[open_frame % CELLS].number = 0; goto end_label_entries
		:: else
		fi }
	od;

end_times: /* slot_settle() */
#ifdef MISTAKE_4 /* DONE is stored before the times */
	atomic { alive -> note_done(); slots[s].times = TORN }
end_done:
	atomic { alive -> slots[s].times = 1 + slots[s].rec; s = 0 }
#else
#ifdef MISTAKE_23 /* the ticks overwrite those of the thread that saw the end */
	atomic { alive -> slots[s].times = TORN }
#else
	atomic { alive -> slots[s].times = NONE }
#endif
end_done:
	atomic { alive -> slots[s].times = 1 + slots[s].rec; note_done(); s = 0 }
#endif
	goto end_idle;

end_label_slots: /* frame_label() */
#ifndef MISTAKE_5 /* step L is left out */
	atomic { alive -> if :: picked & 1 -> slots[0].frame = open_frame :: else fi }
end_label_next:
	atomic { alive -> if :: picked & 2 -> slots[1].frame = open_frame :: else fi }
#endif
#ifdef MISTAKE_6 /* step R before step P */
end_too_early:
	atomic { alive -> if :: picked & 1 -> give_slot(0) :: else fi;
		if :: picked & 2 -> give_slot(1) :: else fi }
#endif
end_publish: /* recorder_frame_publish(), P */
	atomic {
		alive ->
		cells[open_frame % CELLS].recs = set; cells[open_frame % CELLS].number = open_frame;
		published = open_frame; open_frame++; set = 0
	}
end_free: /* frame_free(): pool_slot_free() of each, then pool_flush() */
	atomic { alive -> if :: picked & 1 -> give_slot(0) :: else fi }
end_free_next:
	atomic { alive -> if :: picked & 2 -> give_slot(1) :: else fi }
end_flush:
	atomic { alive -> available = available | picked; picked = 0 }
	goto end_idle;

end_label_entries: /* shim/events/frames.c: frame_label() */
#ifdef MISTAKE_7 /* an entry is given back before its frame is published */
	atomic { alive -> if :: picked & 1 -> give_back(0) :: else fi;
		if :: picked & 2 -> give_back(1) :: else fi }
#else
	atomic { alive -> if :: picked & 1 -> entries[0].frame = open_frame :: else fi }
end_label_entry:
	atomic { alive -> if :: picked & 2 -> entries[1].frame = open_frame :: else fi }
#endif
end_publish_events:
	atomic {
		alive ->
		cells[open_frame % CELLS].recs = set; cells[open_frame % CELLS].number = open_frame;
		published = open_frame; open_frame++; set = 0
	}
#ifndef MISTAKE_7
end_give_back: /* frame_release(): event_ring_give_back() of each */
	atomic { alive -> if :: picked & 1 -> give_back(0) :: else fi }
end_give_back_next:
	atomic { alive -> if :: picked & 2 -> give_back(1) :: else fi }
#endif
end_advance: /* event_ring_advance() */
	atomic {
		alive ->
		do
		:: head != tail && entries[head % ENTRIES].turn + head % ENTRIES > head + 1 ->
			head++
		:: else -> break
		od;
		picked = 0
	}
	goto end_idle
}

/*
 * ---- shim/capture/ends.c: slot_end() of a thread that knows of a dispatch's end and has read its
 * slot. Between any two of its steps the slot may have got another use. ----
 */
proctype looker()
{
	byte s, rec, use;

end_next:
	if
	:: atomic { alive && IS_CHAINED(0) -> s = 0 }
	:: atomic { alive && IS_CHAINED(1) -> s = 1 }
	fi;
end_glimpse: /* slot_glimpse(), and that `changes` is as it was */
	atomic {
		alive ->
		if
		:: !IS_CHAINED(s) -> s = 0; goto end_next
		:: else
		fi;
		rec = slots[s].rec; use = slots[s].use;
		ended = ended | BIT(rec)
#ifdef MISTAKE_22 /* the program goes on before it is written down */
		; seen = seen | BIT(rec)
#endif
	}
end_ticks: /* compared: no times, and the use's number */
	atomic {
		alive ->
		if
#ifdef MISTAKE_19 /* any use of the slot is taken for the one that was read */
		:: slots[s].times == 0 -> slots[s].times = 1 + rec
#else
		:: slots[s].times == 0 && slots[s].use == use -> slots[s].times = 1 + rec
#endif
		:: else
		fi
	}
end_state: /* compared: state, queue, number */
	atomic {
		alive ->
		if
#ifdef MISTAKE_18 /* only the state is compared */
		:: slots[s].state == SUBMITTED -> slots[s].state = ENDED
#else
#ifdef MISTAKE_20 /* a plain store */
		:: true -> slots[s].state = ENDED
#else
		:: slots[s].state == SUBMITTED && slots[s].rec == rec -> slots[s].state = ENDED
#endif
#endif
		:: else
		fi
	}
end_return:
	atomic { alive -> seen = seen | BIT(rec); s = 0; rec = 0; use = 0 }
	goto end_next
}

/* ---- shim/send/connection.c: conn_step() of the shim's thread ---- */
proctype connection()
{
	byte n;

end_step:
	do
	:: atomic { alive && conn == AWAY && up -> conn = GREETING } /* conn_connect() */
	:: atomic {
		alive && conn == OPENING && welcome -> /* conn_welcome(): recorder_resume() */
		assert(welcome - 1 <= published);
#ifndef MISTAKE_8 /* the shim sends again what is stored, and the collector does not look */
		acked = MAX(acked, welcome - 1);
#endif
		sent = acked;
		welcome = 0;
		conn = STREAMING }
	:: atomic {
		alive && conn == STREAMING && sent < published && nfull(wire) ->
		sent++; /* item_done(): recorder_sent() */
#ifndef MISTAKE_3
		assert(cells[sent % CELLS].number == sent);
#endif
		wire ! sent, cells[sent % CELLS].recs }
	:: atomic {
		alive && conn == STREAMING && ack -> /* recorder_acked() */
		assert(ack <= sent);
		acked = MAX(acked, ack);
		ack = 0 }
	/* Nothing is in flight, all is published and stored: it may end. */
	:: atomic {
		alive && dispatched == DISPATCHES && made == EVENTS && acked == published &&
		available == AVAILABLE && head == tail ->
		alive = false; conn = AWAY; ack = 0; welcome = 0 }
	od
}

/* ---- collectord: the loop's and the store's thread, whose queue keeps the order ---- */
inline throw_away()
{
	do
	:: len(wire) > 0 -> wire ? _, _
	:: else -> break
	od
}

/* collectord/recorder/drain.c: take_slot() */
inline drain_slot(s)
{
	if
	:: slots[s].state == FREE
#ifndef MISTAKE_9 /* labels are not looked at */
	:: slots[s].state != FREE && slots[s].frame > 0 && slots[s].frame <= tx_hw
	:: slots[s].state != FREE && !(slots[s].frame > 0 && slots[s].frame <= tx_hw) ->
#else
	:: slots[s].state != FREE ->
#endif
		assert(slots[s].rec != TORN);
		if
#ifdef MISTAKE_10 /* whatever is in a slot counts as finished */
		:: slots[s].state != FREE ->
#else
#ifdef MISTAKE_21 /* ENDED is no state that the drain knows */
		:: slots[s].state == DONE ->
#else
		:: slots[s].state == DONE || slots[s].state == ENDED ->
#endif
#endif
			assert(slots[s].times == 1 + slots[s].rec ||
				(slots[s].state == ENDED &&
					(slots[s].times == 0 || slots[s].times == NONE)));
			assert(ended & BIT(slots[s].rec));
			STORED_ONCE(BIT(slots[s].rec));
			tx_rows = tx_rows | BIT(slots[s].rec)
		:: else ->
			assert(!(outstanding & BIT(slots[s].rec)));
			outstanding = outstanding | BIT(slots[s].rec)
		fi
	fi
}

/* collectord/recorder/drain_events.c: entry_is_left() */
inline drain_entry(e)
{
	if
#ifdef MISTAKE_11 /* an entry that a thread had taken is stored */
	:: entries[e].rec && !(entries[e].frame > 0 && entries[e].frame <= tx_hw) ->
#else
	:: entries[e].turn % ENTRIES == 1 && !(entries[e].frame > 0 && entries[e].frame <= tx_hw) ->
#endif
		STORED_ONCE(BIT(entries[e].rec));
		tx_rows = tx_rows | BIT(entries[e].rec)
	:: else
	fi
}

/* Each dispatch and each event is in one place; ledger_settle(), completeness_is_complete() */
inline check_whole()
{
	n = dropped_count;
	i = 0;
	do
	:: i < DISPATCHES -> n = n + ((rows | outstanding) >> i & 1); i++
	:: else -> break
	od;
	assert(!(rows & outstanding));
	assert(n <= dispatched && n + 1 >= dispatched); /* torn: at most one a producing thread */
	assert((rows & finished) == finished);
	assert((rows & seen) == seen); /* however it died */
	assert(((rows | outstanding) & handed_on) == handed_on);
	assert(!((rows | outstanding) & (BIT(DISPATCHES) - 1) & ~handed_on));
	assert(rows >> DISPATCHES == whole >> DISPATCHES);
#ifdef MISTAKE_17 /* the verdict does not ask for what is torn */
	assert(outstanding || dropped_count ||
		(rows & (BIT(DISPATCHES) - 1)) == BIT(dispatched) - 1);
#else
	assert(outstanding || n < dispatched || dropped_count ||
		(rows & (BIT(DISPATCHES) - 1)) == BIT(dispatched) - 1);
#endif
	n = 0; i = 0
}

proctype collectord()
{
	byte n, recs, i;

end_down:
	do
	:: atomic { /* store_recover(), process_reload() */
		!up -> up = true; tx_hw = hw; tx_rows = rows }
	:: atomic { /* take_frames(): take_numbered() */
		up && !drained && nempty(wire) -> wire ? n, recs;
		if
#ifdef MISTAKE_8
		:: true ->
#else
		:: n <= tx_hw
		:: n > tx_hw -> assert(n == tx_hw + 1);
#endif
			STORED_ONCE(recs);
			tx_rows = tx_rows | recs;
			tx_hw = n;
#ifdef MISTAKE_12 /* Ack before COMMIT */
			committed = n
#endif
		fi;
		n = 0; recs = 0 }
#ifdef MISTAKE_13 /* rows and hw in two transactions */
	:: atomic { up && rows != tx_rows -> rows = tx_rows }
	:: atomic { up && rows == tx_rows && hw < tx_hw -> hw = tx_hw; committed = hw }
#else
	:: atomic { /* work_commit(), announce_commit() */
		up && hw < tx_hw -> hw = tx_hw; rows = tx_rows; committed = hw }
#endif
	:: atomic { /* STORE_COMMITTED: send_ack(), if the connection was welcomed */
		up && committed ->
		if
		:: alive && conn == STREAMING -> ack = committed
		:: else
		fi;
		committed = 0 }
	:: atomic { /* instance_attach(), reopen_process(), send_welcome() */
		up && alive && conn == GREETING -> conn = OPENING; throw_away() }
	:: atomic {
		up && alive && conn == OPENING && !welcome && hw == tx_hw && rows == tx_rows ->
		committed = 0;
		welcome = hw + 1 }
	/* on_death(), close_process(): what is open is committed first, then all of it at once. */
#ifdef MISTAKE_14 /* the drain's rows and its `drained` in two transactions */
	:: atomic { up && !alive && !drained && hw == tx_hw && rows == tx_rows -> throw_away();
		drain_slot(0); drain_slot(1); rows = tx_rows }
#endif
	:: d_step {
		up && !alive && !drained && hw == tx_hw && rows == tx_rows ->
		throw_away();
		do /* take_cells() */
#ifdef MISTAKE_15 /* a cell is taken whatever its number: of another lap */
		:: cells[(tx_hw + 1) % CELLS].number && n < CELLS -> n++;
#else
		:: cells[(tx_hw + 1) % CELLS].number == tx_hw + 1 ->
#endif
			tx_hw++;
			STORED_ONCE(cells[tx_hw % CELLS].recs);
			tx_rows = tx_rows | cells[tx_hw % CELLS].recs
		:: else -> break
		od;
		drain_slot(0); drain_slot(1);
#ifndef MISTAKE_16 /* the rings are not read */
		drain_entry(0); drain_entry(1);
#endif
		hw = tx_hw; rows = tx_rows;
		drained = true;
		check_whole() }
	:: atomic { up && drained -> break }
	od
}

/* Each at most so often, at any step, or not at all: then the protocol must get there by itself. */
proctype faults()
{
	byte deaths = DEATHS, restarts = RESTARTS, losses = LOSSES;

	do
	:: atomic { deaths && alive -> deaths--; alive = false; conn = AWAY; ack = 0; welcome = 0 }
	:: atomic {
		restarts && up && !drained ->
		restarts--;
		up = false; conn = AWAY; committed = 0; ack = 0; welcome = 0;
		throw_away() }
	/* conn_close() of the shim: what it had sent can still be read. */
	:: atomic { losses && up && alive && conn == STREAMING -> losses--; conn = AWAY; ack = 0 }
	:: break
	od
}

init
{
	atomic {
		run producer();
		run event_producer();
		run event_producer();
		run harvester();
		if :: LOOKERS > 0 -> run looker() :: else fi;
		if :: LOOKERS > 1 -> run looker() :: else fi;
		run connection();
		run collectord();
		run faults()
	}
}

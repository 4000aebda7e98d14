/* SPDX-License-Identifier: MIT */
/*
 * Which process has the recorder when both ends die, for spin (docs/recorder.md, section 9): identities and
 * exec, the recorders kept by the manager of the collector, the collector's next life, and the
 * verdict. What is inside a recorder is the matter of recorder.pml: here a program has frames that
 * it published, and at most one finished record that is in none.
 *
 * One process (a pid) runs program 0, and after exec program 1: two tokens, two recorders. The
 * collector is killed at any step of its loop, of its store, or of another process; the manager that keeps the
 * recorders starts it again.
 *
 * The mistakes are seeded with -DMISTAKE_n; each must be found.
 */
#ifndef FRAMES
#define FRAMES 1
#endif
#ifndef RESTARTS
#define RESTARTS 2
#endif
#ifndef EXECS
#define EXECS 1
#endif
#ifndef FAILURES
#define FAILURES 0 /* the database cannot be opened: a full disk */
#endif
#define PROGRAMS 2
#define OTHER(p) (1 - (p))

#ifdef MISTAKE_1 /* one token for both programs */
#define ROW(p) 0
#else
#define ROW(p) (p)
#endif

/* ---- the process ---- */
bool alive = true;
byte current;		/* the program that runs */
byte frames[PROGRAMS];	/* published */
bool tail[PROGRAMS];	/* a record is DONE and in no frame */
byte sent;		/* by the current program, on this connection */
bool is_welcomed;	/* shim/send/connection.c: CONN_STREAMING */
bool is_connecting;	/* Hello sent, no Welcome yet */
bool hello[PROGRAMS];	/* in the backlog, with the recorder: it outlives both ends */

/* ---- collectord's loop: collectord/loop/sessions/instance.h ---- */
#define NONE	 0
#define LEFT	 1 /* of an earlier life: no recorder, no store */
#define OPENING	 2
#define OPEN	 3
#define DRAINING 4
#define ENDED	 5
byte state[PROGRAMS];
bool memfd[PROGRAMS];
bool has_peer[PROGRAMS];
bool had_peer[PROGRAMS];
bool wants_keep[PROGRAMS]; /* kept_retry() */
bool wants_drop[PROGRAMS];
bool up, is_closing, is_stopping;
bool was_resumed[PROGRAMS]; /* its recorder was kept by an earlier life */

#define IS_LIVE(p) (state[p] == LEFT || state[p] == OPENING || state[p] == OPEN)

/* ---- between loop and store: collectord/store/internal.h ---- */
mtype = { session_open, session_failed, session_close, open, frame, end, left, opened, failed, ended, keep, drop };
chan todo = [8] of { mtype, byte };
chan answers = [8] of { mtype, byte };

/* ---- the database: what is committed ---- */
bool has_row[PROGRAMS], has_ended[PROGRAMS], is_drained[PROGRAMS], is_unknown[PROGRAMS];
byte hw[PROGRAMS];
byte rows[PROGRAMS];	  /* frames of each program that are stored */
bool tail_rows[PROGRAMS]; /* its tail is */
bool is_closed, is_complete;

/* The store's memory: struct store_process.is_over, struct store_session.database == NULL */
bool handle_is_over[PROGRAMS], is_shut;

/* ---- the manager: cli/run/collector/supervisor.c, or systemd ---- */
chan notify = [8] of { mtype, byte };
bool kept[PROGRAMS];

/* ---- what was promised: no part of the protocol ---- */
bool was_kept[PROGRAMS], was_welcomed[PROGRAMS];
bool is_over;

inline command(what, prog)
{
	assert(nfull(todo));
	todo ! what, prog
}

inline answer(what, prog)
{
	assert(nfull(answers));
	answers ! what, prog
}

/* collectord/loop/sessions/instance.c: drain(), end_in_store() */
inline end_instance(prog)
{
	if
	:: state[prog] == LEFT -> command(left, prog)
#ifdef MISTAKE_2 /* exec: the recorder of the program before is let go of */
	:: state[prog] != LEFT && alive -> command(left, prog)
	:: state[prog] != LEFT && !alive -> command(end, prog)
#else
	:: state[prog] != LEFT -> command(end, prog)
#endif
	fi;
	state[prog] = DRAINING;
	has_peer[prog] = false;
	wants_keep[prog] = false; /* kept_retry() asks instance_is_live() */
#ifdef MISTAKE_3 /* the recorder is let go of before it is stored */
	wants_drop[prog] = true
#endif
}

/* ---- collectord/store/thread/store.c: run_batch() and what it calls; each is one transaction ---- */

/* collectord/ingest/process/process.c: process_open() */
inline open_process(prog)
{
	if
#ifdef MISTAKE_4 /* it is not asked whether it was read to its end already */
	:: false
#else
	:: is_drained[ROW(prog)] -> handle_is_over[prog] = true; answer(failed, prog)
#endif
	:: else ->
		handle_is_over[prog] = false;
		has_row[ROW(prog)] = true;
		has_ended[ROW(prog)] = false;
		is_unknown[ROW(prog)] = false;
		answer(opened, prog)
	fi
}

/* collectord/store/close_session.c: end_process() with drain_process() */
inline end_process(prog)
{
	assert(!(alive && current == prog)); /* no program that still records is ended */
	do
	:: hw[ROW(prog)] < frames[prog] ->
		hw[ROW(prog)]++;
		rows[prog]++;
		assert(rows[prog] <= frames[prog])
	:: else -> break
	od;
	if
	:: tail[prog] -> assert(!tail_rows[prog]); tail_rows[prog] = true
	:: else
	fi;
	has_ended[ROW(prog)] = true;
	is_drained[ROW(prog)] = true;
	answer(ended, prog)
}

/* collectord/store/thread/recover.c: recover_end_process(); close_session.c: end_forgotten() */
inline end_unread(prog)
{
	has_ended[ROW(prog)] = true;
#ifdef MISTAKE_5 /* the unknown tail is not recorded */
	is_drained[ROW(prog)] = true
#else
	is_unknown[ROW(prog)] = true
#endif
}

inline close_session()
{
	if :: has_row[0] && !has_ended[0] -> end_unread(0) :: else fi;
	if :: has_row[1] && !has_ended[1] -> end_unread(1) :: else fi;
	/* verdict_read(), completeness_is_complete() */
	is_complete = (!has_row[0] || (is_drained[0] && !is_unknown[0])) &&
		(!has_row[1] || (is_drained[1] && !is_unknown[1]));
	is_closed = true
}

proctype store()
{
	byte p, failures = FAILURES;

end_idle:
	do
	:: atomic { todo ? session_open, p ->
		/* session_file_open(), recover_processes() */
		is_shut = false;
		is_closed = false; is_complete = false;
		if :: has_row[0] && !has_ended[0] -> answer(left, 0) :: else fi;
		if :: has_row[1] && !has_ended[1] -> answer(left, 1) :: else fi }
	:: atomic { failures && todo ? [session_open, p] -> todo ? session_open, p;
		failures--;
		is_shut = true;
		answer(session_failed, 0) }
	/* route(): refuse() */
	:: atomic { is_shut && todo ? [open, p] -> todo ? open, p;
		handle_is_over[p] = true; answer(failed, p); p = 0 }
	:: atomic { is_shut && todo ? [left, p] -> todo ? left, p; answer(failed, p); p = 0 }
	:: atomic { !is_shut && todo ? [open, p] -> todo ? open, p; open_process(p); p = 0 }
	:: atomic { todo ? frame, p ->
		/* take_frames(), work_commit() */
		if
		:: rows[p] < frames[p] && hw[ROW(p)] == rows[p] -> hw[ROW(p)]++; rows[p]++
		:: else /* a duplicate */
		fi; p = 0 }
	:: atomic { todo ? end, p -> if :: handle_is_over[p] :: else -> end_process(p) fi; p = 0 }
	:: atomic { !is_shut && todo ? [left, p] -> todo ? left, p;
		end_unread(p); answer(ended, p); p = 0 }
	:: atomic { todo ? session_close, p -> close_session() }
	od
}

/* ---- collectord's loop ---- */

/* instance_new(), instance_adopt() */
inline take_recorder(prog)
{
	memfd[prog] = true;
	wants_keep[prog] = true;
	state[prog] = OPENING;
	command(open, prog)
}

/* collectord/loop/shim_peer.c: find_or_open(), instance_attach() */
inline take_hello(prog)
{
	hello[prog] = false;
	if
	:: state[prog] == DRAINING || state[prog] == ENDED ->
		/* -ESTALE: no program that still records is refused */
		assert(!(alive && current == prog))
	:: else ->
		/* session_end_execed() */
		if :: IS_LIVE(OTHER(prog)) -> end_instance(OTHER(prog)) :: else fi;
		if
		:: state[prog] == NONE || state[prog] == LEFT -> take_recorder(prog)
		:: state[prog] == OPENING && !had_peer[prog] /* welcomed by the answer of the open */
		:: else -> state[prog] = OPENING; command(open, prog) /* reopen_process() */
		fi;
		has_peer[prog] = true; had_peer[prog] = true
	fi
}

/* session_answer(): take_left_process(), instance_new_left() */
inline take_left(prog)
{
	if
	:: state[prog] != NONE || is_closing
	:: else ->
		state[prog] = LEFT;
		if
		:: !alive -> end_instance(prog)
#ifdef MISTAKE_8 /* another program with that pid is taken for the successor */
		:: alive && IS_LIVE(OTHER(prog)) -> end_instance(prog)
#else
		/* session_has_successor() */
		:: alive && IS_LIVE(OTHER(prog)) && had_peer[OTHER(prog)] -> end_instance(prog)
#endif
		:: else
		fi
	fi
}

/* collectord/loop/resume.c: kept_resume() */
inline resume(prog)
{
	if
	:: kept[prog] ->
		was_resumed[prog] = true;
		take_recorder(prog);
		if :: !alive -> end_instance(prog) :: else fi
	:: else
	fi
}

inline send_keep(prog)
{
	wants_keep[prog] = false;
	was_kept[prog] = true;
	notify ! keep, prog
}

inline send_drop(prog)
{
	wants_drop[prog] = false;
	notify ! drop, prog
}

/* All that is its memory. A connection that it had accepted is gone, one in the backlog is not. */
inline collector_ends()
{
	up = false; is_closing = false; is_stopping = false;
	do :: len(todo) > 0 -> todo ? _, _ :: else -> break od;
	do :: len(answers) > 0 -> answers ? _, _ :: else -> break od;
	for (p : 0 .. PROGRAMS - 1) {
		state[p] = NONE; memfd[p] = false; has_peer[p] = false; had_peer[p] = false;
		wants_keep[p] = false; wants_drop[p] = false; handle_is_over[p] = false;
		was_resumed[p] = false
	}
	p = 0;
	is_welcomed = false;
	if :: is_connecting && !hello[current] -> is_connecting = false :: else fi
}

#define HAS_NOTHING(p) (state[p] == NONE || state[p] == ENDED)

proctype loop()
{
	byte p;

end_down:
	do
	/* cli/run/collector/supervisor.c: start_again(); collectord/loop/server.c: build() */
	:: atomic { !up ->
#ifndef MISTAKE_6 /* what the collector said last is not read before the next one starts */
		do
		:: notify ? keep, p -> kept[p] = true
		:: notify ? drop, p -> kept[p] = false
		:: empty(notify) -> break
		od;
#endif
		up = true; p = 0;
		command(session_open, 0);
#ifndef MISTAKE_7 /* what was kept is not looked at */
		resume(0);
		resume(1)
#endif
	}
	/* accept_some(), shim_peer_greet() */
	:: atomic { up && !is_closing && !is_stopping && hello[0] -> take_hello(0) }
	:: atomic { up && !is_closing && !is_stopping && hello[1] && !hello[0] -> take_hello(1) }
	/* kept_put(), kept_drop(): now, or when the keeper is less busy */
	:: atomic { up && wants_keep[0] && nfull(notify) -> send_keep(0) }
	:: atomic { up && wants_keep[1] && nfull(notify) -> send_keep(1) }
	:: atomic { up && wants_drop[0] && nfull(notify) -> send_drop(0) }
	:: atomic { up && wants_drop[1] && nfull(notify) -> send_drop(1) }
	/* on_answers() */
	:: atomic { up && answers ? [left, p] -> answers ? left, p; take_left(p); p = 0 }
	:: atomic { up && answers ? [opened, p] -> answers ? opened, p;
		if
		:: state[p] == OPENING ->
			state[p] = OPEN;
			if
			:: has_peer[p] && alive && current == p && is_connecting ->
				is_connecting = false; is_welcomed = true;
				was_welcomed[p] = true; sent = hw[ROW(p)]
			:: else
			fi
		:: else
		fi;
		p = 0 }
	:: atomic { up && answers ? [failed, p] -> answers ? failed, p;
		/* on_ended() */
		state[p] = ENDED; wants_keep[p] = false;
#ifdef MISTAKE_9 /* let go of although the database could only not be opened */
		wants_drop[p] = true;
#else
		wants_drop[p] = !(is_shut && was_resumed[p]);
#endif
		/* Refused at its Hello, nothing is stored of it: nothing was promised. */
		if :: is_shut && !was_resumed[p] -> was_kept[p] = false :: else fi;
		p = 0 }
	:: atomic { up && answers ? [ended, p] -> answers ? ended, p;
		state[p] = ENDED; wants_drop[p] = true; p = 0 }
	/* on_failed(), server_stop(): rtl run, or systemd, starts another one */
	:: atomic { up && answers ? [session_failed, p] -> answers ? session_failed, p;
		is_stopping = true }
	:: atomic { up && is_stopping -> collector_ends() }
	/* on_death(), of every instance with that pid */
	:: atomic { up && !alive && IS_LIVE(0) -> end_instance(0) }
	:: atomic { up && !alive && IS_LIVE(1) -> end_instance(1) }
	/* session_check(), on_linger(): the command has ended, and the backlog is empty */
	:: atomic { up && !alive && !is_closing && !is_stopping && !hello[0] && !hello[1] &&
		HAS_NOTHING(0) && HAS_NOTHING(1) ->
		is_closing = true;
		command(session_close, 0) }
	:: atomic { up && is_closing && is_closed && empty(todo) -> break }
	od;
	is_over = true;
	/* What rtl run tells the user. */
	for (p : 0 .. PROGRAMS - 1) {
		assert(!has_row[ROW(p)] || has_ended[ROW(p)]);
		assert(rows[p] <= frames[p]);
		/* Kept: nothing that was finished is absent, and nothing is unknown. */
		assert(!was_kept[p] || (is_drained[ROW(p)] && !is_unknown[ROW(p)]));
		assert(!is_drained[ROW(p)] || is_unknown[ROW(p)] || !has_row[ROW(p)] ||
			(rows[p] == frames[p] && tail_rows[p] == tail[p]));
		/* Not complete with fewer; a program that was never welcomed left no trace. */
		assert(!is_complete || (!has_row[ROW(p)] && !was_welcomed[p]) ||
			(rows[p] == frames[p] && tail_rows[p] == tail[p]));
		/* The verdict is complete if all is stored, whichever process was killed. */
		assert(is_complete || is_unknown[0] || is_unknown[1])
	}
}

/* ---- the process ---- */
proctype process()
{
end_running:
	do
	:: atomic { alive && frames[current] < FRAMES -> frames[current]++ }
	:: atomic { alive && !tail[current] -> tail[current] = true }
	/* conn_connect(): the listening socket is there, with or without a collector */
	:: atomic { alive && !is_welcomed && !is_connecting ->
		is_connecting = true; hello[current] = true }
	:: atomic { alive && is_welcomed && sent < frames[current] && state[current] == OPEN ->
		sent++; command(frame, current) }
	/* execve(): threads, mapping and connection are gone */
	:: atomic { alive && current < EXECS ->
		current = 1;
		is_welcomed = false; is_connecting = false; has_peer[0] = false; sent = 0 }
	:: atomic { alive -> alive = false; is_welcomed = false; is_connecting = false; sent = 0 }
	od
}

/* ---- cli/run/collector/supervisor.c: receive(), handle() ---- */
proctype keeper()
{
	byte p, restarts = RESTARTS;

end_idle:
	do
	:: atomic { notify ? keep, p -> kept[p] = true; p = 0 }
	:: atomic { notify ? drop, p -> kept[p] = false; p = 0 }
	/* SIGKILL of the collector */
	:: atomic { up && restarts && !is_over -> restarts--;
		collector_ends() }
	od
}

init
{
	atomic { run store(); run loop(); run process(); run keeper() }
}

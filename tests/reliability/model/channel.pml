/* SPDX-License-Identifier: MIT */
/*
 * How a connection comes from the backlog of the service to the worker of its tenant, for spin
 * (docs/architecture.md, "Processes of the service"): the acceptor, the door, the channels of the
 * supervisor, one tenant's worker, and SIGKILL of each of them at any step. Each step names the
 * function that takes it.
 *
 * A connection that no process holds is hung up: its client is told, as by the kernel. One that lies
 * in the backlog or in the door is held by that.
 *
 * The mistakes are seeded with -DMISTAKE_n; each must be found.
 */
#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef WORKER_KILLS
#define WORKER_KILLS 1
#endif
#ifndef ACCEPTOR_KILLS
#define ACCEPTOR_KILLS 1
#endif
#ifndef SUPERVISOR_KILLS
#define SUPERVISOR_KILLS 0
#endif
#ifndef QUESTIONS
#define QUESTIONS 1 /* of a worker: to settle, and to go */
#endif

/* ---- connections: which process or socket holds a descriptor of each ---- */
bool was_made[CLIENTS], in_backlog[CLIENTS], in_acceptor[CLIENTS], in_door[CLIENTS], in_worker[CLIENTS];
bool in_orphan[CLIENTS]; /* a worker, or a door, of the supervisor that is dead */
bool is_served[CLIENTS];
byte times_taken[CLIENTS];

#define IS_HELD(c)  (in_backlog[c] || in_acceptor[c] || in_door[c] || in_worker[c] || in_orphan[c])
#define IS_TOLD(c)  (was_made[c] && !IS_HELD(c))

/* ---- channels (collectord/channel/channel.h): what was sent is read though the sender has died ---- */
mtype = { want_door, accepted, door, no_door, accept, forget, settle, settled, may_go, go, stay };
chan to_acceptor = [4] of { mtype, byte };
chan of_acceptor = [4] of { mtype, byte };
chan to_worker = [3] of { mtype };
chan of_worker = [3] of { mtype };
chan in_the_door = [1] of { byte }; /* SOCK_SEQPACKET: a second connection finds it full */

/* ---- supervisor: collectord/supervisor/workers.c, acceptors.c ---- */
#define NONE	0
#define READY	1
#define LEAVING 2
#define GOING	3
#define STUCK	4 /* given up, but has not ended */
byte state;
bool has_door, is_closing_door, is_wanted, is_to_start, is_settling, waits;
byte round, rounds; /* rounds: the last that was given out */

/* ---- acceptor: collectord/supervisor/acceptor.c ---- */
bool acceptor_up, acceptor_ended;
bool knows_door;   /* struct door is there ... */
bool has_its_end;  /* ... with a descriptor, ... */
byte its_round;	   /* ... and a round to confirm */

/* ---- worker: collectord/loop/seated.c ---- */
bool worker_up, worker_hangs, worker_ended;
bool has_orphan; /* the worker of a supervisor that is dead; it has the lock of the tenant */
byte questions;
bool is_asking, was_told_settled;
bool before[CLIENTS]; /* connections that were made before it asked */

inline told(what, number)
{
	assert(nfull(of_acceptor));
	of_acceptor ! what, number
}

/* Each process that ends closes what it has; a descriptor in a door or channel goes with its last end. */
inline drop_door()
{
	do :: len(in_the_door) > 0 -> in_the_door ? _ :: else -> break od;
	for (i : 0 .. CLIENTS - 1) { in_door[i] = false }
	i = 0;
	has_door = false
}

/* workers.c: start(), give_door() */
inline give_door()
{
	if
	:: is_wanted && has_door && state == READY ->
		is_wanted = false;
		if :: acceptor_up -> assert(nfull(to_acceptor)); to_acceptor ! door, 0 :: else fi
	:: else
	fi
}

inline start()
{
	assert(!worker_up && !worker_hangs); /* no worker is started twice for a tenant */
	has_door = true;
	state = READY;
	is_to_start = false;
	worker_up = true;
	questions = QUESTIONS;
	is_asking = false;
	was_told_settled = false;
	give_door()
}

/* workers.c: ask_acceptors() */
inline ask_acceptors(what)
{
	rounds++;
	round = rounds;
	waits = false;
	if
	:: acceptor_up -> assert(nfull(to_acceptor)); to_acceptor ! what, round; waits = true
	:: else
	fi
}

/* workers.c: close_door(): it looks, and then closes, which are two steps */
inline close_door()
{
	if
#ifndef MISTAKE_1 /* it is not looked whether connections lie in it */
	:: len(in_the_door) > 0 ->
#ifndef MISTAKE_4 /* no worker is started for them */
		is_to_start = true
#else
		skip
#endif
	:: len(in_the_door) == 0 -> is_closing_door = true
#else
	:: is_closing_door = true
#endif
	fi
}

/* workers.c: check_round() */
inline check_round()
{
	if
	:: round && !waits && acceptor_up ->
		if
		:: is_settling -> assert(nfull(to_worker)); to_worker ! settled; is_settling = false
		:: else
		fi;
		if
		:: state == LEAVING -> assert(nfull(to_worker)); to_worker ! go; state = GOING
		:: state == NONE -> close_door()
		:: else
		fi;
		round = 0
	:: else
	fi
}

/* acceptors.c: acceptors_start(), workers_tell_newcomer() */
inline start_acceptor()
{
	acceptor_up = true;
	knows_door = false;
	has_its_end = false;
	its_round = 0;
#ifndef MISTAKE_2 /* a new acceptor is not asked what the dead one had not confirmed */
	if
	:: round -> to_acceptor ! accept, round; waits = true
	:: else -> waits = false
	fi
#else
	waits = false
#endif
}

inline worker_message(what)
{
	if
	:: what == settle -> is_settling = true; ask_acceptors(accept)
	:: what == may_go && state == READY && !is_wanted ->
		state = LEAVING;
#ifdef MISTAKE_3 /* it is told to go before the acceptors have confirmed that they forgot its door */
		ask_acceptors(forget);
		to_worker ! go;
		state = GOING
#else
		ask_acceptors(forget)
#endif
	:: what == stay -> if :: state == GOING -> state = READY :: else fi; give_door()
	:: else
	fi
}

/* workers.c: refuse() */
inline refuse()
{
	is_wanted = false;
	if :: acceptor_up -> assert(nfull(to_acceptor)); to_acceptor ! no_door, 0 :: else fi
}

proctype supervisor()
{
	byte i, number;
	mtype what;

	atomic { start_acceptor() }
end_idle:
	do
	/* acceptors_hear() */
	:: atomic { !is_closing_door && nempty(of_acceptor) -> of_acceptor ? what, number;
		if
		:: what == want_door ->
			is_wanted = true;
			if :: state == LEAVING -> state = READY :: else fi;
			if
			:: state == NONE -> start()
			:: state == STUCK -> refuse()
			:: else -> give_door()
			fi
		:: what == accepted && round == number -> waits = false; check_round()
		:: else
		fi;
		what = 0; number = 0 }
	/* replace(): the end of its channel comes after all that it has sent */
	:: atomic { !is_closing_door && acceptor_ended && empty(of_acceptor) ->
		acceptor_ended = false;
		start_acceptor();
		check_round() }
	/* workers_hear() */
	:: atomic { !is_closing_door && nempty(of_worker) -> of_worker ? what; worker_message(what); what = 0 }
	/* workers_watch(), give_up(): it is killed, and may never end */
	:: atomic { !is_closing_door && worker_hangs && state != STUCK ->
		do :: len(of_worker) > 0 -> of_worker ? _ :: else -> break od;
		do :: len(to_worker) > 0 -> to_worker ? _ :: else -> break od;
		is_settling = false;
		round = 0;
		waits = false;
		state = STUCK;
#ifdef MISTAKE_7 /* another one is started although it has not ended */
		start()
#else
		if :: is_wanted -> refuse() :: else fi
#endif
	}
	/* workers_ended(): hear_out() first */
	:: atomic { !is_closing_door && worker_ended && empty(of_worker) ->
		worker_ended = false;
		do :: len(to_worker) > 0 -> to_worker ? _ :: else -> break od;
		is_settling = false;
		round = 0;
		waits = false;
#ifdef MISTAKE_4
		is_to_start = false;
#else
		is_to_start = len(in_the_door) > 0;
#endif
		if
		:: state == GOING -> state = NONE; close_door()
		:: else ->
			state = NONE;
			if :: !is_to_start -> ask_acceptors(forget) :: else fi
		fi;
		if
		:: !is_closing_door && (is_wanted || is_to_start) -> start()
		:: else
		fi }
	:: atomic { is_closing_door ->
		/* The supervisor never makes the last close of a connection. */
		for (i : 0 .. CLIENTS - 1) { assert(!in_door[i]) }
		i = 0;
		drop_door();
		is_closing_door = false;
		if :: is_wanted || is_to_start -> start() :: else fi }
	/* workers_start() of a tick */
	:: atomic { !is_closing_door && state == NONE && is_to_start && !worker_ended -> start() }
	od
}

/* acceptor.c: hand_over() is two steps, sendmsg() and close() */
#define HANDS_OVER(c) (acceptor_up && in_acceptor[c] && !in_door[c] && !in_worker[c] && has_its_end)

proctype acceptor()
{
	byte i, number, passing = 255;
	mtype what;

end_idle:
	do
	/* SIGKILL: all that it holds */
	:: atomic { !acceptor_up && passing != 255 -> passing = 255 }
	/* accept_some(), take(), make_door(): what does not fit waits in it */
	:: atomic { acceptor_up && passing == 255 && in_backlog[0] ->
		in_backlog[0] = false; in_acceptor[0] = true;
		if :: !knows_door -> knows_door = true; told(want_door, 0) :: else fi }
	:: atomic { acceptor_up && passing == 255 && CLIENTS > 1 && in_backlog[CLIENTS - 1] ->
		in_backlog[CLIENTS - 1] = false; in_acceptor[CLIENTS - 1] = true;
		if :: !knows_door -> knows_door = true; told(want_door, 0) :: else fi }
	:: atomic { acceptor_up && passing == 255 && has_its_end && has_door && nfull(in_the_door) &&
		in_acceptor[0] ->
		in_the_door ! 0; in_door[0] = true;
		passing = 0 }
	:: atomic { acceptor_up && passing == 255 && has_its_end && has_door && nfull(in_the_door) &&
		CLIENTS > 1 && in_acceptor[CLIENTS - 1] ->
		in_the_door ! CLIENTS - 1; in_door[CLIENTS - 1] = true;
		passing = CLIENTS - 1 }
	:: atomic { acceptor_up && passing != 255 ->
		in_acceptor[passing] = false; passing = 255 }
	/* -EPIPE: ask_for() */
	:: atomic { acceptor_up && passing == 255 && has_its_end && !has_door &&
		(in_acceptor[0] || in_acceptor[CLIENTS - 1]) ->
		has_its_end = false; told(want_door, 0) }
	/* say_accepted() of flush() */
#ifdef MISTAKE_5 /* it confirms before the door has what waits in it */
#define WAITS_IN_IT false
#else
#define WAITS_IN_IT (in_acceptor[0] || in_acceptor[CLIENTS - 1])
#endif
	:: atomic { acceptor_up && passing == 255 && its_round && !WAITS_IN_IT ->
		told(accepted, its_round); its_round = 0 }
	/* hear() */
	:: atomic { acceptor_up && passing == 255 && nempty(to_acceptor) -> to_acceptor ? what, number;
		if
		:: what == door -> if :: knows_door -> has_its_end = true :: else fi
		:: what == no_door ->
			for (i : 0 .. CLIENTS - 1) { in_acceptor[i] = false }
			i = 0;
			knows_door = false;
			has_its_end = false;
			if :: its_round -> told(accepted, its_round); its_round = 0 :: else fi
		:: what == accept || what == forget ->
			/* take_backlog() */
			for (i : 0 .. CLIENTS - 1) {
				if
				:: in_backlog[i] ->
					in_backlog[i] = false; in_acceptor[i] = true;
					if :: !knows_door -> knows_door = true; told(want_door, 0) :: else fi
				:: else
				fi
			}
			i = 0;
			if
			:: !knows_door -> told(accepted, number)
			:: else ->
				its_round = number;
				if
				:: what == forget && (in_acceptor[0] || in_acceptor[CLIENTS - 1]) ->
					has_its_end = false; told(want_door, 0)
				:: what == forget && !in_acceptor[0] && !in_acceptor[CLIENTS - 1] ->
					knows_door = false; has_its_end = false;
					told(accepted, its_round); its_round = 0
				:: else
				fi
			fi
		:: else
		fi;
		what = 0; number = 0 }
	od
}

/* seated.c: seated_next_connection() */
inline take_arrivals()
{
	do
	:: len(in_the_door) > 0 ->
		in_the_door ? c;
		in_door[c] = false;
		in_worker[c] = true;
		times_taken[c]++;
		assert(times_taken[c] == 1) /* no connection is served twice */
	:: else -> break
	od;
	c = 0
}

#define HAS_NONE (!in_worker[0] && !in_worker[CLIENTS - 1])

proctype worker()
{
	byte c;
	mtype what;

end_idle:
	do
	/* A worker of a supervisor that is dead has the lock until it has ended. */
	:: atomic { worker_up && !has_orphan && len(in_the_door) > 0 -> take_arrivals() }
	/* Its client is answered, and hangs up. */
	:: atomic { worker_up && in_worker[0] -> is_served[0] = true; in_worker[0] = false }
	:: atomic { worker_up && CLIENTS > 1 && in_worker[CLIENTS - 1] ->
		is_served[CLIENTS - 1] = true; in_worker[CLIENTS - 1] = false }
	/* session_check(): before it closes a session it asks; ask_to_go() of an idle one */
	:: atomic { worker_up && HAS_NONE && questions && !is_asking && !was_told_settled &&
		nfull(of_worker) ->
		for (c : 0 .. CLIENTS - 1) { before[c] = was_made[c] }
		c = 0;
		is_asking = true;
		of_worker ! settle }
	:: atomic { worker_up && HAS_NONE && questions && !is_asking && nfull(of_worker) ->
		questions--;
		of_worker ! may_go }
	/* on_channel() */
	:: atomic { worker_up && !has_orphan && nempty(to_worker) -> to_worker ? what;
		take_arrivals();
		if
		:: what == settled ->
			is_asking = false;
			was_told_settled = true;
			/* What was made before the question is here, or was served or told. */
			for (c : 0 .. CLIENTS - 1) {
				assert(!before[c] || !(in_backlog[c] || in_acceptor[c] && !in_worker[c] && !is_served[c] || in_door[c]))
			}
			c = 0
#ifdef MISTAKE_6 /* it goes without a look at what has come meanwhile */
		:: what == go ->
			assert(HAS_NONE);
			worker_up = false;
			worker_ended = true
#else
		:: what == go && HAS_NONE -> worker_up = false; worker_ended = true
		:: what == go && !HAS_NONE -> of_worker ! stay
#endif
		:: else
		fi;
		what = 0 }
	od
}

proctype client(byte c)
{
	atomic { was_made[c] = true; in_backlog[c] = true }
	/* Served, or told by a hang-up: any other end is one where it waits for ever. */
	is_served[c] || IS_TOLD(c)
}

/* SIGKILL of each of them; a worker that hangs in the kernel holds what it has until it has ended */
proctype killer()
{
	byte i, acceptors = ACCEPTOR_KILLS, workers = WORKER_KILLS, supervisors = SUPERVISOR_KILLS;

end_idle:
	do
	:: atomic { acceptors && acceptor_up -> acceptors--;
		acceptor_up = false; acceptor_ended = true;
		do :: len(to_acceptor) > 0 -> to_acceptor ? _, _ :: else -> break od;
		for (i : 0 .. CLIENTS - 1) { in_acceptor[i] = false }
		i = 0 }
	:: atomic { workers && worker_up -> workers--; worker_up = false; worker_hangs = true }
	:: atomic { worker_hangs ->
		worker_hangs = false; worker_ended = true;
		for (i : 0 .. CLIENTS - 1) { in_worker[i] = false }
		i = 0 }
	/* The acceptor dies with the supervisor; the worker finds its channel closed, and the door too. */
	:: atomic { supervisors && acceptor_up && !has_orphan -> supervisors--;
		do :: len(of_acceptor) > 0 -> of_acceptor ? _, _ :: else -> break od;
		do :: len(to_acceptor) > 0 -> to_acceptor ? _, _ :: else -> break od;
		do :: len(of_worker) > 0 -> of_worker ? _ :: else -> break od;
		do :: len(to_worker) > 0 -> to_worker ? _ :: else -> break od;
		has_orphan = worker_up || worker_hangs;
		for (i : 0 .. CLIENTS - 1) {
			in_acceptor[i] = false;
			in_orphan[i] = has_orphan && (in_worker[i] || in_door[i]);
			in_worker[i] = false
		}
		i = 0;
		drop_door();
		worker_up = false; worker_hangs = false; worker_ended = false; acceptor_ended = false;
		state = NONE; is_closing_door = false; is_wanted = false; is_to_start = false; is_settling = false;
		round = 0;
		start_acceptor() }
	:: atomic { has_orphan ->
		has_orphan = false;
		for (i : 0 .. CLIENTS - 1) { in_orphan[i] = false }
		i = 0 }
	od
}

init
{
	byte i;

	atomic {
		run supervisor(); run acceptor(); run worker(); run killer();
		for (i : 0 .. CLIENTS - 1) { run client(i) }
	}
}

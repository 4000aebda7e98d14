#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Choosing what to record, and start and stop while jobs run: what was chosen is there, dispatch
# by dispatch, and all else is counted as skipped by the filter.
load lib.bash
bats_require_minimum_version 1.5.0

compare() { # compare DATABASE: each row is the device's dispatch of its number
	accounted "$1"
	local csv
	csv=$(truth_csv)
	# shellcheck disable=SC2086 # a list of files
	python3 "$here/compare_truth.py" --filtered "$1" $csv
}

# The books of a database against what the job said, and its last line.
filtered() { # filtered DATABASE STORED
	local all
	all=$(told out | awk -F'|' '{n += $3} END {print n}')
	[ "$(sql "$1" 'SELECT sum(dispatched), sum(stored), sum(skipped) FROM rtl_account')" = "$all|$2|$((all - $2))" ]
	[ "$(sql "$1" "SELECT sum(value) FROM rtl_counter WHERE name = 'skipped_filter'")" -eq $((all - $2)) ]
	[ "$(sql "$1" 'SELECT count(*) FROM rtl_loss')" -eq 0 ]
	[ "$("$rtl" summary --json "$1" | jq -c '[.complete, .skipped]')" = "[true,$((all - $2))]" ]
	"$rtl" summary "$1" | grep -q '^RANK .* KERNELS .* SKIPPED '
	tail -n 1 err | grep -qx "SIMULATED complete: $all dispatched, $2 stored, $((all - $2)) skipped (filter $((all - $2)))"
}

train() { # train OPTION...: 4 ranks on 2 GPUs, 7 steps, with all into t.db
	rm -rf truth t.db ./*.truth.csv
	mkdir truth
	"$rtl" run -o t.db --device soft "$@" -- "$demo" --ranks 4 --gpus 2 --steps 7 >out 2>err || {
		cat err
		return 1
	}
}

count() { # count CONDITION: rows of the whole job that fulfil it
	sql all.db "SELECT count(*) FROM rocpd_op o
		LEFT JOIN rtl_marker m ON m.process_id = o.process_id AND m.roctxId = o.roctxId
		LEFT JOIN rtl_marker p ON p.process_id = m.process_id AND p.roctxId = m.parent
		JOIN rtl_kernel k ON k.id = o.description_id WHERE $1"
}

more_than() { [ "$(sql t.db 'SELECT count(*) FROM rocpd_op')" -gt "$1" ]; } # more_than ROWS

@test "filters store what they name, all of it and nothing else" {
	train
	mv t.db all.db
	train --ranks 1,3
	filtered t.db "$(count 'o.rank IN (1, 3)')"
	[ "$(sql t.db 'SELECT group_concat(DISTINCT rank) FROM (SELECT rank FROM rocpd_op ORDER BY rank)')" = 1,3 ]
	[ "$(sql t.db 'SELECT count(*) FROM rtl_process')" -eq 4 ] # ranks that are left out say Hello
	compare t.db

	train --gpus 1
	filtered t.db "$(count 'gpuId = 1')"
	[ "$(sql t.db 'SELECT DISTINCT gpuId FROM rocpd_op')" -eq 1 ]
	compare t.db

	train --kernels 'SoftMax|rms_norm'
	filtered t.db "$(count "k.symbol GLOB '*SoftMax*' OR k.symbol GLOB '*rms_norm*'")"
	[ "$(sql t.db "SELECT count(*) FROM rocpd_op JOIN rtl_kernel k ON k.id = description_id
		WHERE k.symbol NOT GLOB '*SoftMax*' AND k.symbol NOT GLOB '*rms_norm*'")" -eq 0 ]
	compare t.db

	train --region '^backward$'
	filtered t.db "$(count "m.text = 'backward' OR p.text = 'backward'")"
	[ "$(sql t.db "SELECT DISTINCT m.text FROM rocpd_op JOIN rtl_marker m USING (process_id, roctxId)")" = backward ]
	compare t.db

	train --ranks 0-2 --region forward --kernels 'rms_norm'
	filtered t.db "$(count "o.rank < 3 AND m.text = 'forward' AND k.symbol GLOB '*rms_norm*'")"
	compare t.db

	train --kernels 'no such kernel'
	filtered t.db 0
}

@test "steps are recorded as torch.profiler.schedule does" {
	train
	mv t.db all.db
	in_steps() { count "m.text IN ($1) OR p.text IN ($1)"; }
	train --steps 1:1:2:0
	[ "$(sql t.db "SELECT count(DISTINCT text) FROM rtl_marker WHERE text LIKE 'step %'")" -eq 7 ]
	filtered t.db "$(in_steps "'step 2', 'step 3', 'step 6'")"
	compare t.db
	[ "$(sql t.db "SELECT count(*), count(to_ns) FROM rtl_recording WHERE why = 'steps'")" = "8|4" ]
	train --steps 0:1:1:2
	filtered t.db "$(in_steps "'step 1', 'step 3'")"
	compare t.db
	RTL_STEPS=1:0:1:0 train --step-marker '^forward'
	[ "$(sql t.db "SELECT count(*), count(to_ns) FROM rtl_recording")" = "12|12" ]
	compare t.db
}

@test "variables filter like options; a bad one gets one line, and everything is recorded" {
	eval "$("$rtl" env --device soft --ranks 0)"
	"$rtl" run -o t.db --device soft -- "$demo" --ranks 2 --steps 3 >out 2>err
	[ "$(sql t.db 'SELECT DISTINCT rank FROM rocpd_op')" -eq 0 ]
	unset RTL_RANKS
	run -125 "$rtl" run -o u.db --kernels '(' true
	[ "${#lines[@]}" -eq 1 ]
	run -125 "$rtl" run -o u.db --dormant --start-after 3 true
	RTL_STEPS=bad run -125 "$rtl" run -o u.db true
	[ ! -e u.db ]
	"$rtl" run -o u.db --device soft -- env RTL_KERNELS='(' "$demo" --ranks 1 --steps 2 >out 2>err
	[ "$(grep -c 'everything is recorded' err)" -eq 1 ]
	[ "$(told out)" = "$(stored u.db)" ]
}

@test "--start-after and --duration record that interval alone" {
	"$rtl" run -o t.db --device soft --start-after 100ms --duration 800ms -- \
		"$demo" --ranks 2 --dispatches 6000 --rate 4000 >out 2>err
	filtered t.db "$(sql t.db 'SELECT count(*) FROM rocpd_op')"
	# Where a machine is so busy that a rank comes to dispatch only later there is nothing.
	[ "$(sql t.db 'SELECT count(*) FROM rocpd_op')" -eq 0 ] || compare t.db
	# A busy machine is late, never early.
	[ "$(sql t.db "SELECT count(*) FROM rtl_recording r JOIN rtl_process p ON p.id = process_id
		WHERE why = 'time' AND end_why = 'time' AND to_ns - from_ns >= 800000000 AND from_ns - p.start_ns >= 100000000")" -eq 2 ]
	[ "$(sql t.db 'SELECT count(*) FROM rocpd_op o JOIN rtl_recording r USING (process_id)
		WHERE submit_ns NOT BETWEEN from_ns AND to_ns')" -eq 0 ]
}

# ---- while it runs ----------------------------------------------------------------------------

now_ns() { python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_BOOTTIME))'; }

begin() { # begin RANKS OPTION...: a job that dispatches until it is killed; waits for all ranks
	local ranks=$1
	shift
	"$rtl" run -o t.db --device soft "$@" -- "$demo" --ranks "$ranks" --dispatches 100000000 --rate 500 \
		>out 2>err 3>&- &
	runner=$!
	pids+=($runner)
	wait_until only_ours # what is asked is told, and killed
	wait_until moves "$ranks"
}
live() { "$rtl" stat --json -n 1; }
of_ranks() { # of_ranks EXPRESSION: of the ranks that live, each of which is `value`; jq takes ten times as long to start
	live >live.json && sqlite3 :memory: "SELECT $1 FROM json_each(CAST(readfile('live.json') AS TEXT), '\$.ranks')"
}
moves() { # moves RANKS: so many have dispatched something since the last look
	local before=${seen:-0} ranks
	IFS='|' read -r seen ranks < <(of_ranks "coalesce(sum(value ->> 'dispatched'), 0),
		count(DISTINCT value ->> 'rank') FILTER (WHERE value ->> 'dispatched' > 0)") || return
	[ "$ranks" -eq "$1" ] && [ "$seen" -gt "$before" ]
}
grow() { # more is dispatched, by all of $1 ranks
	local from
	from=$(of_ranks "min(value ->> 'dispatched')")
	wait_until passed "$((from + 200))"
}
# answered REGEX ARGUMENT...: rtl ctl, once more until each process has answered: one that stands still is not
# waited for, and named
answered() { "$rtl" ctl "${@:2}" >out.ctl && grep -Eq "$1" out.ctl; }
passed() { [ "$(of_ranks "min(value ->> 'dispatched')")" -gt "$1" ]; }
end() { # while it is dormant: nothing is in flight that would be recorded
	# shellcheck disable=SC2046 # a list
	kill -KILL $(live | jq '.ranks[].pid' | sort -u)
	wait $runner || true
	accounted t.db
	[ "$(sql t.db 'SELECT sum(dispatched) = sum(stored) + sum(skipped) FROM rtl_account')" -eq 1 ]
	[ "$(sql t.db "SELECT sum(skipped) FROM rtl_account")" = "$(sql t.db "SELECT sum(value) FROM rtl_counter WHERE name = 'skipped_filter'")" ]
}

# Runs of successive numbers, of all processes.
runs() {
	sql t.db 'SELECT count(*) FROM (SELECT sequenceId - lag(sequenceId) OVER (PARTITION BY process_id, queueId ORDER BY sequenceId) AS step
		FROM rocpd_op) WHERE step IS NOT 1'
}

@test "start and stop in the middle: all that was submitted between is there, and nothing else" {
	local on_asked on_done off_asked off_done
	begin 2 --dormant
	[ "$(live | jq -c '[.ranks[].records] | unique')" = '["dormant"]' ]
	grow
	on_asked=$(now_ns)
	wait_until answered '^session .*: 2 of 2 processes record$' start
	on_done=$(now_ns)
	[ "$(live | jq -c '[.ranks[].records] | unique')" = '["yes"]' ]
	grow
	off_asked=$(now_ns)
	wait_until answered '^session .*: 2 of 2 processes are dormant$' stop
	off_done=$(now_ns)
	grow
	end
	# One run of numbers a process: nothing is missing within. Its ends are in time.
	[ "$(runs)" -eq 2 ]
	[ "$(sql t.db "SELECT min(submit_ns) >= $on_asked AND max(submit_ns) <= $off_done FROM rocpd_op")" -eq 1 ]
	[ "$(sql t.db "SELECT count(DISTINCT process_id) FROM rocpd_op WHERE submit_ns BETWEEN $on_done AND $off_asked")" -eq 2 ]
	[ "$(sql t.db "SELECT count(*) FROM rtl_recording WHERE why = 'control' AND end_why = 'control'
		AND from_ns BETWEEN $on_asked AND $on_done AND to_ns BETWEEN $off_asked AND $off_done")" -eq 2 ]
	[ "$(sql t.db 'SELECT count(*) FROM rocpd_op o JOIN rtl_recording r USING (process_id)
		WHERE submit_ns NOT BETWEEN from_ns AND to_ns')" -eq 0 ]
	csv=$(truth_csv)
	# shellcheck disable=SC2086 # a list of files
	python3 "$here/compare_truth.py" --filtered t.db $csv
}

# bats test_tags=apart
@test "rtl ctl start records some of 8 ranks for a duration" {
	begin 8 --dormant
	asked=$(now_ns)
	# Where all stands still its time may be over before it is answered, or it is heard after that.
	"$rtl" ctl start --ranks 0,3-5 --duration 2s >out.ctl || grep -q ' did not answer in time' out.ctl
	grep -q ': [0-4] of 4 processes record' out.ctl
	ends() {
		[ "$("$rtl" ctl status | grep -c ': dormant$')" -eq 8 ] &&
			[ "$(sql t.db "SELECT count(*) FROM rtl_recording WHERE end_why = 'control'")" -eq 4 ]
	}
	wait_until ends
	grow
	end
	[ "$(sql t.db 'SELECT group_concat(rank) FROM (SELECT DISTINCT rank FROM rocpd_op ORDER BY rank)')" = 0,3,4,5 ]
	[ "$(runs)" -eq 4 ]
	[ "$(sql t.db "SELECT count(*), min(to_ns) >= $asked + 1000000000 FROM rtl_recording WHERE end_why = 'control'")" = "4|1" ]
}

@test "rtl ctl that applies to no process says why" {
	says() { # says TEXT ARGUMENT...
		local text=$1
		shift
		run -1 --separate-stderr "$rtl" ctl "$@"
		# shellcheck disable=SC2154 # of run
		grep -q "$text" <<<"$stderr" || {
			echo "$stderr"
			return 1
		}
		[ "$(wc -l <<<"$stderr")" -eq 1 ] && [ -z "$output" ]
	}
	RTL_SOCKET=$work/none.sock says 'no collector answers' start
	"$collectord" --socket "$work/c.sock" --db-dir "$work/store" >/dev/null 2>&1 3>&- &
	pids+=($!)
	export RTL_SOCKET=$work/c.sock
	answers() { "$rtl" ctl status >/dev/null 2>&1; }
	wait_until answers
	says 'no session of yours is open' start
	says 'no session of yours is open' status --ranks 7
	says 'no session nonesuch' stop --session nonesuch
	mkfifo gate
	"$rtl" run --socket "$work/c.sock" --device soft bash -c 'read line <gate' 2>err 3>&- &
	pids+=($!)
	opened() { [ "$("$rtl" ls --json | jq '[.sessions[] | select(.state != "closed")] | length')" -eq 1 ]; }
	wait_until opened
	name=$("$rtl" ls --json | jq -r '.sessions[0].session')
	says 'no process of .* has connected yet' start
	if [ "$(id -u)" -eq 0 ]; then
		# A stranger neither sees it nor starts it.
		chmod 755 "$work"
		run -1 --separate-stderr setpriv --reuid 65534 --regid 65534 --clear-groups \
			env HOME=/ "$rtl" ctl --socket "$work/c.sock" start --session "$name"
		grep -Eq "no session $name that you may see|belongs to another user" <<<"$stderr"
	fi
	echo go >gate
	closed() { [ "$("$rtl" ls --json | jq '[.sessions[] | select(.state != "closed")] | length')" -eq 0 ]; }
	wait_until closed
	says "session $name is over" start --session "$name"
	unset RTL_SOCKET
	begin 2 --ranks 0
	says 'has rank 7' start --ranks 7
	says 'has rank 7' status --ranks 7
	run -0 "$rtl" ctl status --ranks 0
	grep -q '^  rank 0, ' <<<"$output"
	says 'left out by --ranks' start --ranks 1
	run -2 "$rtl" ctl start --ranks x
	run -2 "$rtl" ctl start --duration 0
	run -2 "$rtl" ctl flush --duration 3
}

# serve: a collector on $work/c.sock, after the one before it.
serve() {
	# A killed one listens until it is gone.
	[ -z "${collector:-}" ] || wait "$collector" || :
	"$collectord" --socket "$work/c.sock" --db-dir "$work/store" >>collector.log 2>&1 3>&- &
	collector=$!
	pids+=($collector)
	answers() { "$rtl" ctl status >/dev/null 2>&1; }
	wait_until answers
}

start_rank() { # start_rank RANK: a dormant one of the session "late"
	RTL_RANK=$1 WORLD_SIZE=2 "$demo" --dispatches 100000000 --rate 500 >>out 2>>err 3>&- &
	pids+=($!)
	ranks+=($!)
}

# bats test_tags=apart
@test "a rank that comes later hears of the control; a killed collector is no reason to record" {
	export RTL_SOCKET=$work/c.sock RTL_JOB_ID=late
	serve
	eval "$("$rtl" env --device soft --socket "$work/c.sock" --job late --dormant)"
	ranks=()
	start_rank 0
	wait_until moves 1
	wait_until answered ': 1 of 1 processes record$' start
	start_rank 1
	both() { [ "$("$rtl" ctl status | grep -c ': records$')" -eq 2 ]; }
	wait_until both
	grow
	wait_until answered ': 2 of 2 processes are dormant$' stop
	kill -KILL $collector
	serve
	back() { [ "$("$rtl" ctl status | grep -c 'pid [0-9]*: dormant$')" -eq 2 ]; }
	wait_until back
	grow
	# Its time is kept by the processes themselves.
	asked=$(now_ns)
	starts() {
		again=$(now_ns)
		answered ': 2 of 2 processes record$' start --duration 2s
	}
	wait_until starts
	kill -KILL $collector
	serve
	wait_until back
	kill -KILL "${ranks[@]}"
	gone() { [ "$("$rtl" ls --json | jq '[.sessions[] | select(.state != "closed")] | length')" -eq 0 ]; }
	wait_until gone
	db=$("$rtl" ls --json | jq -r '.sessions[0].database')
	[ "$(sql "$db" "SELECT count(DISTINCT process_id) FROM rtl_recording WHERE from_ns >= $asked
		AND to_ns >= $again + 2000000000 AND end_why = 'control'")" -eq 2 ]
	[ "$(sql "$db" 'SELECT sum(dispatched) = sum(stored) + sum(skipped) FROM rtl_account')" -eq 1 ]
	[ "$(sql "$db" 'SELECT count(*) FROM rtl_loss')" -eq 0 ]
}

# bats test_tags=apart
@test "a collector that was killed tells newcomers what the session was told before" {
	export RTL_SOCKET=$work/c.sock RTL_JOB_ID=late
	serve
	eval "$("$rtl" env --device soft --socket "$work/c.sock" --job late --dormant)"
	ranks=()
	start_rank 0
	wait_until moves 1
	wait_until answered ': 1 of 1 processes record$' start
	kill -KILL $collector
	serve
	start_rank 1
	both() { [ "$("$rtl" ctl status | grep -c ': records$')" -eq 2 ]; }
	wait_until both
	# Newer than what it heard from its former life, for some only; and once more.
	wait_until answered ': 1 of 1 processes are dormant$' stop --ranks 1-2
	kill -KILL $collector
	serve
	kill -KILL $collector
	serve
	start_rank 2
	as_told() {
		[ "$("$rtl" ctl status | sed -n 's/^  rank \([0-9]*\), pid [0-9]*: /\1 /p' | sort | tr '\n' ,)" = \
			'0 records,1 dormant,2 dormant,' ]
	}
	wait_until as_told
	kill -KILL "${ranks[@]}"
	gone() { [ "$("$rtl" ls --json | jq '[.sessions[] | select(.state != "closed")] | length')" -eq 0 ]; }
	wait_until gone
	db=$("$rtl" ls --json | jq -r '.sessions[0].database')
	[ "$(sql "$db" "SELECT count(*) FROM rtl_meta WHERE key LIKE 'controls%'")" -eq 0 ]
	[ "$(sql "$db" 'SELECT count(*) FROM rtl_loss')" -eq 0 ]
}

@test "rtl ctl stop returns when all that was recorded is in the database" {
	mkfifo gate
	"$rtl" run -q -o t.db --device soft --dormant bash -c \
		'"$0" --dispatches 1000000 --rate 20000 & pid=$!; read -r line <gate; kill -USR1 $pid; wait $pid' \
		"$demo" >out 2>err 3>&- &
	local runner=$! before=0 stored
	pids+=($runner)
	wait_until only_ours
	wait_until "$rtl" ctl start
	for _ in 1 2 3 4 5; do
		wait_until more_than $before
		"$rtl" ctl stop
		stored=$(sql t.db 'SELECT count(*) FROM rocpd_op')
		"$rtl" ctl flush
		[ "$(sql t.db 'SELECT count(*) FROM rocpd_op')" -eq "$stored" ]
		before=$stored
		"$rtl" ctl start
	done
	"$rtl" ctl stop
	stored=$(sql t.db 'SELECT count(*) FROM rocpd_op')
	echo end >gate
	wait $runner
	[ "$(sql t.db 'SELECT count(*) FROM rocpd_op')" -eq "$stored" ]
	accounted t.db
}

#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# rtl run is the service manager of its private collector: what it keeps, what it waits for.
load lib.bash
load keeper.bash

bats_require_minimum_version 1.5.0

# A client that asks the collector, and waits for an answer as long as any tool does: what ends before is
# not held up by it. Sets client.
ask() {
	"$rtl" ctl --socket "$(find run -name '*.sock')" status >/dev/null 2>&1 3>&- &
	client=$!
	pids+=($client)
}
is_asking() { kill -0 $client; }

has_ended() { ! grep -q '^State:.[^Z]' "/proc/$1/status" 2>/dev/null; } # has_ended PID: a child of ours
is_stopped() { grep -q '^State:.T' "/proc/$1/status"; }
# told_to_end PID: once more, and it has
told_to_end() {
	kill -TERM "$1" 2>/dev/null || true
	has_ended "$1"
}

# fds PID [TARGET...]: what it has open, without what differs from one to the next
fds() {
	local fd
	for fd in /proc/"$1"/fd/*; do
		readlink "$fd"
	done | sed 's/[[#][0-9]*[]]*//' | sort
}

@test "a collector that lives and says nothing holds no signal up, and nothing is lost when a good one comes" {
	breakable_rtl
	"$rtl" run -o d.db --device soft bash -c 'trap "touch told" TERM
		while [ ! -e stop ]; do "$0" --ranks 2 --gpus 2 --dispatches 500 --rate 1000; done' \
		"$demo" >out 2>err 3>&- &
	local runner=$! before client
	pids+=($runner)
	wait_until rows_grow d.db
	own() { fds $runner | grep -v '^/memfd:rtl-recorder'; }
	before=$(own)
	touch mute
	kill -KILL "$(collector_of d.db)"
	wait_until has_tried 2
	pids+=("$(tail -n 1 starts | cut -d ' ' -f 1)")
	ask
	kill -TERM $runner
	wait_until test -e told
	is_asking
	rm mute
	kill -KILL "$(tail -n 1 starts | cut -d ' ' -f 1)"
	rows=$(sql d.db 'SELECT count(*) FROM rocpd_op')
	wait_until rows_grow d.db
	is_as_before() { [ "$(own)" = "$before" ]; }
	wait_until is_as_before
	touch stop
	wait $runner
	[ "$(grep -c 'had died and was started again' err)" -eq 1 ]
	[ "$(told out | awk -F'|' '{n += $3} END {print n}')" -eq "$(sql d.db 'SELECT count(*) FROM rocpd_op')" ]
	accounted d.db
	[[ $(tail -n 1 err) == "SIMULATED complete: "* ]]
}

@test "a collector that lives and says nothing does not hide the end of the job, nor does its wait outlast a signal" {
	breakable_rtl
	mkfifo gate
	"$rtl" run -o d.db --device soft bash -c 'touch begun; read line <gate; exit 5' 2>err 3>&- &
	local runner=$! status=0 client
	pids+=($runner)
	wait_until test -e begun
	touch mute
	kill -KILL "$(collector_of d.db)"
	wait_until has_tried 2
	pids+=("$(tail -n 1 starts | cut -d ' ' -f 1)")
	ask
	echo go >gate
	wait_until is_alone $runner
	wait_until told_to_end $runner
	is_asking
	wait $runner || status=$?
	[ "$status" -eq 5 ]
	grep -q 'collector: interrupted; the end of the record may be missing' err
}

@test "a stopped collector does not hold up the end of rtl run, and closes the file when it goes on" {
	mkfifo gate
	"$rtl" run -o d.db --device soft bash -c 'touch begun; read line <gate; exit 5' 2>err 3>&- &
	local runner=$! status=0 client collector
	pids+=($runner)
	wait_until test -e begun
	collector=$(collector_of d.db)
	kill -STOP "$collector"
	wait_until is_stopped "$collector"
	ask
	echo go >gate
	wait_until is_alone $runner
	wait_until told_to_end $runner
	is_asking
	is_stopped "$collector"
	wait $runner || status=$?
	[ "$status" -eq 5 ]
	grep -q 'collector: interrupted; the end of the record may be missing' err
	kill -CONT "$collector"
	closed() { [ "$(sql d.db 'SELECT count(*) FROM rtl_session WHERE end_ns IS NOT NULL')" = 1 ]; }
	wait_until closed
}

@test "few open files are no limit to what is kept, where more may be had; the job has the limit that it had" {
	breakable_rtl
	mkfifo gate
	echo 100 >many
	(
		ulimit -Sn 64
		exec "$rtl" run -o d.db --device soft bash -c 'ulimit -Sn >limit; ulimit -Hn >>limit; read line <gate' 2>err 3>&-
	) &
	local runner=$!
	pids+=($runner)
	wait_until test -e has_many
	rm many
	kill -KILL "$(collector_of d.db)"
	wait_until has_tried 2
	echo go >gate
	wait $runner
	[ "$(sed -n '2s/.* //p' starts)" -eq 101 ]
	[ "$(cat limit)" = "64"$'\n'"$(ulimit -Hn)" ]
	[ "$(lines_of 'recorders of no more than' err)" -eq 0 ]
	[ "$(lines_of 'had died and was started again' err)" -eq 1 ]
}

@test "where no more open files may be had, what cannot be kept is said once and nothing else suffers" {
	breakable_rtl
	mkfifo gate
	echo 100 >many
	(
		ulimit -n 128
		exec "$rtl" run -o d.db --device soft bash -c '"$0" --ranks 1 --steps 2 >out.0
			read line <gate; "$0" --ranks 1 --steps 2 >out.1' "$demo" 2>err 3>&-
	) &
	local runner=$! kept
	pids+=($runner)
	wait_until test -e out.0
	wait_until test -e has_many
	rm many
	kill -KILL "$(collector_of d.db)"
	wait_until has_tried 2
	echo go >gate
	wait $runner
	kept=$(sed -n 's/.*recorders of no more than \([0-9]*\) processes can be kept with so few open files.*/\1/p' err)
	[ "$kept" -gt 0 ]
	[ "$kept" -lt 100 ]
	# The rank's own came first or last, and the socket.
	[ "$(sed -n '2s/.* //p' starts)" -ge $kept ]
	[ "$(sed -n '2s/.* //p' starts)" -le $((kept + 1)) ]
	cat out.0 out.1 >out
	cat err
	[ "$(told out | awk -F'|' '{n += $3} END {print n}')" -eq "$(sql d.db 'SELECT count(*) FROM rocpd_op')" ]
	accounted d.db
	[[ $(tail -n 1 err) == "SIMULATED complete: "* ]]
}

@test "a process that fills the address that a collector writes to stops no recording" {
	breakable_rtl
	touch full
	"$rtl" run --strict -o d.db --device soft "$demo" --ranks 1 --steps 2 >out 2>err
	[ "$(wc -l <starts)" -eq 1 ]
	[ "$(told out)" = "$(stored d.db)" ]
	accounted d.db
}

@test "the job has the descriptors that it would have, each collector those that the first had" {
	local look='import os; d = "/proc/self/fd/"; print(sorted((f, os.readlink(d + f)) for f in os.listdir(d) if f > "2" and os.path.exists(d + f)))'
	echo mine >nine
	exec 9<nine
	python3 -c "$look" >without 3>&-
	"$rtl" run -o d.db --device soft bash -c 'python3 -c "$1" >with; exec "$0" --ranks 1 --dispatches 1000000 --rate 100' \
		"$demo" "$look" 2>err 3>&- &
	local runner=$! collector first
	pids+=($runner)
	wait_until rows_grow d.db
	grep -q "('9', '$work/nine')" without
	diff without with
	collector=$(collector_of d.db)
	settled() {
		first=$(fds "$collector")
		read -rt 0.1 <> <(:) || true
		[ "$(fds "$collector")" = "$first" ]
	}
	wait_until settled
	echo "$first"
	[ "$(grep -c '^/memfd:rtl-collector-log' <<<"$first")" -eq 2 ]
	[ "$(grep -c 'nine$' <<<"$first")" -eq 0 ]
	# Of a pipe it has both ends: it is its own.
	[ -z "$(readlink /proc/"$collector"/fd/* | grep '^pipe:' | sort | uniq -u)" ]
	is_as_the_first() { [ "$(fds "$collector")" = "$first" ]; }
	for _ in 1 2; do
		kill -KILL "$collector"
		wait_until is_another d.db
		collector=$(collector_of d.db)
		wait_until rows_grow d.db
		wait_until is_as_the_first
	done
	exec 9<&-
	kill -TERM $runner
	wait $runner || true
}

# An rtl whose collector's disk or life fails where RTL_VFS and RTL_FAULT say.
faulty_rtl() {
	collectord=$RTL_BUILD/tests-bin/collectord-faults
	breakable_rtl
}

@test "the command starts once its file is made, and a collector that dies before the file is open loses nothing" {
	faulty_rtl
	RTL_FAULT=file_made:1:hang run -0 --separate-stderr "$rtl" run -o d.db --device soft bash -c '
		kill -KILL "$(tail -n 1 starts | cut -d " " -f 1)"
		exec "$0" --ranks 2 --gpus 2 --dispatches 500' "$demo"
	[ "$(grep -c . starts)" -eq 2 ]
	[[ $stderr == *"had died and was started again"* ]]
	[[ $stderr == *"SIMULATED complete: "* ]]
	[ "$(sql d.db 'SELECT count(*) FROM rocpd_op')" -eq 1000 ]
	accounted d.db
}

@test "rtl run waits for the collector of a run that was ended, and takes the file when it lets go" {
	faulty_rtl
	mkfifo gate
	RTL_FAULT=drain_before_commit:1:stop "$rtl" run -q -o d.db --device soft bash -c \
		'"$0" --ranks 1 --steps 2; : >done; read line <gate' "$demo" >out 2>err 3>&- &
	local runner=$! collector second
	pids+=($runner)
	wait_until test -e done
	collector=$(collector_of d.db)
	wait_until is_stopped "$collector"
	kill -TERM $runner
	wait $runner || true
	"$RTL_BUILD/bin/rtl" run -f -o d.db --device soft "$demo" --ranks 1 --steps 3 >out2 2>err2 3>&- &
	second=$!
	pids+=($second)
	wait_until grep -q "d.db: waiting for pid $collector to let go of it" err2
	kill -CONT "$collector"
	wait $second
	[ "$(told out2)" = "$(stored d.db)" ]
	accounted d.db
}

@test "a file that is made and not open yet is in use: no other run removes it, and its job is whole" {
	faulty_rtl
	mkfifo gate
	RTL_FAULT=file_made:1:stop "$rtl" run -o d.db --device soft bash -c \
		'read line <gate; "$0" --ranks 2 --gpus 2 --dispatches 500' "$demo" >out 2>err 3>&- &
	local runner=$! collector other
	pids+=($runner)
	wait_until test -e d.db
	collector=$(collector_of d.db)
	wait_until is_stopped "$collector"
	for other in "run -f" trace; do
		# shellcheck disable=SC2086 # a verb and its option
		run -125 --separate-stderr "$RTL_BUILD/bin/rtl" $other -o d.db true
		[ "${stderr##*$'\n'}" = "rtl: d.db: is in use by pid $collector; wait for it, or name another file" ]
	done
	kill -CONT "$collector"
	echo go >gate
	wait $runner
	[ "$(told out)" = "$(stored d.db)" ]
	accounted d.db
	[[ $(tail -n 1 err) == "SIMULATED complete: "* ]]
	# Then it is in no run's way.
	"$RTL_BUILD/bin/rtl" run -q -f -o d.db true
}

@test "a collector that never lives until its file is open: what is said of the record names that" {
	faulty_rtl
	RTL_FAULT=file_vacant run -0 --separate-stderr "$rtl" run -o d.db true
	[ "$(grep -c . starts)" -ge 2 ]
	[[ ${stderr_lines[-1]} == "rtl: the record cannot be judged: no collector lived until its database was open" ]]
}

@test "a file that is made and cannot be opened: the job goes on, one line says why, --strict says it with 3" {
	faulty_rtl
	export RTL_VFS=write,fail_at=1,for_ever
	export -f wait_until
	run -7 --separate-stderr "$rtl" run -o a.db bash -c 'wait_until [ ! -e a.db ] && exit 7'
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == *collector*"goes on unrecorded" ]]
	run -0 --separate-stderr "$rtl" run -o a.db true
	[ "${#stderr_lines[@]}" -eq 1 ]
	run -3 --separate-stderr "$rtl" run --strict -o a.db true
	[ "${#stderr_lines[@]}" -eq 1 ]
	[ ! -e a.db ]
	[ -z "$(find run -name '*.sock')" ]
}

# proc(5), policy: 0 OTHER, 3 BATCH
@test "a job's own collector is of class BATCH, the job of the one that it would have" {
	local classes='for p in $(grep -lsx collectord /proc/[0-9]*/comm) /proc/$$/comm; do
		grep -qs "$PWD/" ${p%/comm}/cmdline && cut -d" " -f41 ${p%/comm}/stat
	done'
	run -0 --separate-stderr "$rtl" run -q -o a.db -- sh -c "$classes" "$PWD/"
	local own
	own=$(cut -d" " -f41 /proc/$$/stat)
	[ "$output" = "$((own ? own : 3))"$'\n'"$own" ]
}

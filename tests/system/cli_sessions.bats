#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# rtl run and the life of a session: runs that start it, join it, come late, leave first, outlive it.
load lib.bash
load keeper.bash
load service.bash

bats_require_minimum_version 1.5.0

# rank R COMMAND...: rtl run of rank R of one launch, into t.db
rank() {
	local r=$1
	shift
	RTL_JOB_ID=launch RTL_RANK=$r "$rtl" run --device soft -o t.db "$@"
}

# A command that ends when N of its kind have started.
meet='touch "up.$RTL_RANK"; until [ "$(ls up.* | wc -l)" -ge "$1" ]; do read -t 1 line <>fifo || :; done; ls up.* >seen.$RTL_RANK'

@test "runs of one launch join one collector, and one of them has the last word" {
	mkfifo fifo
	for r in 0 1 2 3 4 5 6 7; do
		rank $r bash -c "$meet" meet 8 2>err.$r 3>&- &
		jobs[$r]=$!
	done
	for r in 0 1 2 3 4 5 6 7; do
		wait "${jobs[$r]}"
	done
	[ "$(cat err.* | grep -c '^complete: ')" -eq 1 ]
	[ "$(sql t.db 'SELECT count(*) FROM rtl_session')" -eq 1 ]
	[ -z "$(find run -name '*.sock')" ]
	accounted t.db
}

@test "a rank that comes when the others have gone still belongs to the file; a stranger does not" {
	rank 0 "$demo" --steps 2 >out.0
	rank 1 "$demo" --steps 2 >out.1
	[ "$(sql t.db 'SELECT group_concat(rank) FROM (SELECT rank FROM rtl_process ORDER BY rank)')" = 0,1 ]
	[ "$(sql t.db 'SELECT count(*) FROM rtl_session')" -eq 1 ]
	cat out.0 out.1 >out
	[ "$(told out)" = "$(stored t.db)" ]
	accounted t.db
	# The same rank again is another launch: its file exists.
	run -125 rank 1 true
	[[ $output == *t.db*exists* ]]
	# So is a file that is not the one that was made.
	cp t.db copy.db && mv copy.db t.db
	run -125 rank 2 true
}

@test "a rank that comes late finds its file where the name was taken, and got a number" {
	touch rtl-launch.db
	for r in 0 1; do
		RTL_JOB_ID=launch RTL_RANK=$r "$rtl" run -q --private --device soft "$demo" --steps 1
	done
	[ "$(sql rtl-launch-2.db 'SELECT group_concat(rank) FROM rtl_process')" = 0,1 ]
	[ ! -e rtl-launch-3.db ]
}

@test "a rank that is numbered by hand, and late, finds its file from a shell of its own" {
	# As by ssh or xargs: the shell is not told which rank it is, and outlives it.
	for r in 0 1; do
		rtl="$rtl" demo="$demo" sh -c "RTL_JOB_ID=launch RTL_RANK=$r "'\
			"$rtl" run -q -f -o t.db --device soft "$demo" --steps 2; exit $?'
	done
	[ "$(sql t.db 'SELECT group_concat(rank) FROM rtl_process')" = 0,1 ]
	accounted t.db
}

# launch RANK...: torchrun, as it were, a task of srun itself, starts them one after the other, each by
# a script of its own
launch() {
	SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_PROCID=0 rtl="$rtl" demo="$demo" bash -c 'for r; do
		RANK=$r LOCAL_RANK=$r GROUP_RANK=0 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 \
			MASTER_PORT=29500 sh -c '\''"$@"; exit $?'\'' rank \
			"$rtl" run -q -f -o t.db --device soft "$demo" --steps 2 || exit
	done' launch "$@"
}

@test "a launch that is begun again with the same key has its own file, whichever rank is first" {
	launch 0 >out.before
	launch 1 0 >out
	[ "$(told out)" = "$(stored t.db)" ]
	[ "$(sql t.db 'SELECT group_concat(rank) FROM rtl_process')" = 1,0 ]
	accounted t.db
}

@test "a launcher without a job key: what it starts on this node is one launch" {
	mkfifo fifo
	for r in 0 1 2; do
		RTL_RANK=$r PMI_RANK=$r PMI_SIZE=3 "$rtl" run --device soft -o t.db bash -c "$meet" meet 3 2>err.$r 3>&- &
		jobs[$r]=$!
	done
	for r in 0 1 2; do
		wait "${jobs[$r]}"
	done
	[ "$(cat err.* | grep -c '^complete: ')" -eq 1 ]
	# Also where each rank has a script of its own around it.
	rm up.*
	for r in 0 1 2; do
		RTL_RANK=$r PMI_RANK=$r PMI_SIZE=3 sh -c '"$@"; exit $?' rank \
			"$rtl" run --device soft -o u.db bash -c "$meet" meet 3 2>err.$r 3>&- &
		jobs[$r]=$!
	done
	for r in 0 1 2; do
		wait "${jobs[$r]}"
	done
	[ "$(cat err.* | grep -c '^complete: ')" -eq 1 ]
}

@test "jobs of scripts that inherited a rank, and have no key, stay apart" {
	start_service
	cat >script <<-'END'
		"$rtl" run -q --socket c.sock --device soft "$demo" --steps 1
		exit $?
	END
	rtl=$rtl demo=$demo RTL_RANK=0 bash -c 'bash script && exec bash ./script'
	[ "$(find store -name '*.db' ! -name index.db | wc -l)" -eq 2 ]
}

@test "two launches of different files with the same key stay apart" {
	RTL_JOB_ID=same RTL_RANK=0 "$rtl" run --device soft -o a.db bash -c '
		RTL_JOB_ID=same RTL_RANK=0 "$0" run --device soft -o b.db "$1" --steps 1' "$rtl" "$demo"
	[ "$(sql a.db 'SELECT count(*) FROM rtl_process')" -eq 0 ]
	[ "$(sql b.db 'SELECT count(*) FROM rtl_process')" -eq 1 ]
}

@test "two runs of one file that know nothing of each other: the second is refused" {
	mkfifo gate
	"$rtl" run -q -o t.db cat gate 3>&- &
	first=$!
	pids+=($first)
	wait_until test -e t.db
	run -125 "$rtl" run -o t.db true
	# Not even with -f: the first is writing.
	run -125 "$rtl" run -f -o t.db true
	[[ $output == *"in use by pid"* ]]
	run -125 "$rtl" trace -o t.db true
	echo >gate
	wait $first
}

@test "an rtl run that is stopped while it decides holds up no other run's end" {
	mkfifo gate
	"$rtl" run -q -o t.db bash -c 'touch begun; : <gate; exit 5' 3>&- &
	local runner=$!
	pids+=($runner)
	wait_until test -e begun
	exec 8<run/rtl/run.lock
	flock 8
	: >gate
	status=0
	wait $runner || status=$?
	[ "$status" -eq 5 ]
	accounted t.db
	# It could not look whether the socket is its own; the next run removes it once its collector has gone.
	exec 8<&-
	cleared() { "$rtl" run -q -f -o u.db true && [ -z "$(find run -name '*.sock')" ]; }
	wait_until cleared
}

@test "an inner rtl run without -o records into the outer one's file" {
	"$rtl" run --device soft -o t.db "$rtl" run "$demo" --ranks 2 --steps 2 >out
	[ "$(told out)" = "$(stored t.db)" ]
	accounted t.db
	[ "$(ls ./*.db)" = ./t.db ]
}

@test "an rtl run that is done early leaves alone and does not end the others" {
	mkfifo gate
	rank 0 bash -c 'read line <gate; "$0" --steps 2' "$demo" >out 2>err.0 3>&- &
	first=$!
	pids+=($first)
	wait_until test -e t.db
	rank 1 true 2>err.1
	[ "$(lines_of complete: err.1)" -eq 0 ]
	echo go >gate
	wait $first
	[ "$(told out)" = "$(stored t.db)" ]
	[ "$(tail -n 1 err.0 | grep -c '^SIMULATED complete: ')" -eq 1 ]
}

# A command that leaves a process behind, recorded and in the middle of a kernel.
leave='"$0" --steps 3 --hang-at 1 >/dev/null 2>&1 3>&- & echo $! >left
until [ "$(sqlite3 -readonly t.db "SELECT count(*) FROM rtl_process" 2>/dev/null)" = 1 ]; do read -t 0.05 line <>fifo || :; done
exit 6'

@test "what outlives the command is waited for, named, left alone" {
	mkfifo fifo
	status=0
	"$rtl" run --device soft -o t.db bash -c "$leave" "$demo" 2>err || status=$?
	left=$(cat left)
	pids+=("$left")
	[ "$status" -eq 6 ]
	kill -0 "$left"
	grep -Eq 'still running.*pid [0-9]+ .*/rtl-demo' err
	tail -n 1 err | grep -q '^SIMULATED INCOMPLETE: .*outstanding'
	[ "$(sql t.db 'SELECT count(*) FROM rtl_session WHERE end_ns IS NULL')" -eq 0 ]
	[ "$(sql t.db 'PRAGMA journal_mode')" = delete ]
}

@test "as the first process of a container rtl run does not wait for its own collector" {
	# Which comes to it as every orphan does.
	unshare --user --map-root-user --pid --fork --kill-child --mount-proc \
		"$rtl" run --device soft -o t.db "$demo" --ranks 2 --dispatches 100 >out 2>err
	run -1 grep 'still running' err
	[ "$(told out)" = "$(stored t.db)" ]
	accounted t.db
}

@test "children of the shell that became rtl run are not waited for, what the command leaves is" {
	bash -c 'sleep 1000 & echo $! >before; exec "$0" run -o t.db --device soft \
		bash -c "\"$1\" --dispatches 2000 --rate 4000 >out &"' "$rtl" "$demo" 2>err 3>&-
	pids+=("$(cat before)")
	kill -0 "$(cat before)"
	run -1 grep 'still running' err
	[ "$(told out)" = "$(stored t.db)" ]
	[ -n "$(told out)" ]
	accounted t.db
}

@test "^C while waiting for what outlives the command ends the wait" {
	mkfifo fifo
	"$rtl" run --device soft -o t.db bash -c "$leave" "$demo" 2>err 3>&- &
	runner=$!
	pids+=($runner)
	# Its command is gone and it still lives: it waits.
	wait_until test -s left
	pids+=("$(cat left)")
	gone() { [ "$(cat /proc/$runner/task/$runner/children)" = "$(cat left) " ]; }
	wait_until gone
	kill -INT $runner
	status=0
	wait $runner || status=$?
	[ "$status" -eq 6 ]
	grep -q 'INCOMPLETE' err
}

@test "when rtl is killed, what runs is recorded to its end and the file is closed" {
	"$rtl" run --device soft -o t.db bash -c '"$0" --ranks 1 --dispatches 3000 --rate 1000 >out' "$demo" 3>&- &
	runner=$!
	begun() { [ "$(sql t.db 'SELECT count(*) FROM rtl_process' 2>/dev/null)" = 1 ]; }
	wait_until begun
	kill -KILL $runner
	closed() { [ "$(sql t.db 'SELECT count(*) FROM rtl_session WHERE end_ns IS NOT NULL')" = 1 ]; }
	wait_until closed
	# The rank's parent prints what the rank did when the rank has ended.
	wait_until test -s out
	[ "$(told out)" = "$(stored t.db)" ]
	# The next run removes the socket that was left behind.
	cleared() { "$rtl" run -q -f -o u.db true && [ -z "$(find run -name '*.sock')" ]; }
	wait_until cleared
}

kill_collector_during() { # kill_collector_during FILE [OPTION]: sets status
	mkfifo "gate.$1"
	"$rtl" run --device soft -o "$1" ${2:+"$2"} bash -c "touch begun.$1; read line <gate.$1; exit ${3:-0}" 2>err 3>&- &
	local runner=$!
	pids+=($runner)
	wait_until test -e "begun.$1" # one that dies before it has taken the job in is not started again
	kill -KILL "$(collector_of "$1")"
	echo go >"gate.$1"
	status=0
	wait $runner || status=$?
}

@test "a killed collector is started again, and the job's exit status stands" {
	kill_collector_during t.db '' 4
	[ "$status" -eq 4 ]
	[ "$(grep -c 'collector had died and was started again' err)" -eq 1 ]
	[ "$(sql t.db 'PRAGMA journal_mode')" = delete ]
	kill_collector_during s.db --strict
	[ "$status" -eq 3 ] # nothing was dispatched
}

@test "the collector is killed under load, again and again: complete" {
	"$rtl" run -o k.db --device soft bash -c \
		'while [ ! -e stop ]; do "$0" --ranks 3 --gpus 2 --dispatches 5000 --rate 10000; done' \
		"$demo" >out 2>err 3>&- &
	local runner=$! collector="" commands=""
	pids+=($runner)
	wait_until only_ours
	for _ in 1 2 3; do
		wait_until is_another k.db
		collector=$(collector_of k.db)
		wait_until rows_grow k.db
		commands="${commands:+$commands }$("$rtl" ls --json | jq -r '.sessions[0].command' | cut -d ' ' -f 1)"
		kill -KILL "$collector"
	done
	touch stop
	wait $runner
	told=$(told out | awk -F'|' '{n += $3} END {print n}')
	[ "$told" -ge 15000 ]
	[ "$(sql k.db 'SELECT count(*) FROM rocpd_op')" -eq "$told" ]
	accounted k.db
	[ "$(tail -n 1 err)" = "SIMULATED complete: $told dispatched, $told stored" ]
	# The session is still called by what was run, not by a rank that a recorder was kept of.
	[ "$commands" = "bash bash bash" ]
	[ "$(sql k.db "SELECT substr(command, 1, 7) || (SELECT substr(value, 1, 7) FROM rtl_meta WHERE key = 'command') FROM rtl_session")" = "bash -cbash -c" ]
}

@test "a private session has its runner's name, whichever peer is heard first, also after a restart" {
	local shim called collector=""
	start_private() {
		"$collectord" --socket "$work/p.sock" --private-session one --db "$work/p.db" >>collector.log 2>&1 3>&- &
		collector=$!
		pids+=($collector)
	}
	called() { "$rtl" ls --json --socket "$work/p.sock" | jq -r '.sessions[0].command'; }
	start_private
	wait_until listens "$work/p.sock"
	"$RTL_BUILD/tests-bin/synthetic-shim" --socket "$work/p.sock" --rank 0 --rate 1000 -n 100000000 >/dev/null 3>&- &
	shim=$!
	pids+=($shim)
	wait_until rows_grow p.db
	[ "$(called)" = null ]
	kill -KILL $collector
	wait $collector || true
	sqlite3 p.db "UPDATE rtl_session SET command = 'what was run'" # as its runner told it
	rows=$(sql p.db 'SELECT count(*) FROM rocpd_op')
	start_private
	wait_until rows_grow p.db
	[ "$(called)" = "what was run" ]
	kill -KILL $shim
	wait $collector # without a runner it ends with its last process
	[ "$(sql p.db "SELECT command LIKE '%synthetic-shim --socket%' FROM rtl_process")" -eq 1 ]
	[ "$(sql p.db 'SELECT command FROM rtl_session')" = "what was run" ]
}

# bats test_tags=apart
@test "collector and ranks killed at once: every dispatch is stored or outstanding" {
	"$rtl" run -o b.db --device soft "$demo" --ranks 3 --gpus 2 --dispatches 2000000 --rate 10000 >out 2>err 3>&- &
	local runner=$! status=0
	pids+=($runner)
	wait_until grows b.db
	only_ours
	kill -KILL "$(collector_of b.db)" $("$rtl" stat --json -n 1 | jq '.ranks[].pid')
	wait $runner || status=$?
	[ "$status" -eq 137 ]
	accounted b.db
	[ "$(sql b.db 'SELECT count(*) FROM rtl_loss')" -eq 0 ]
	[ "$(sql b.db 'SELECT sum(dispatched) = sum(stored) + sum(outstanding) + sum(torn) FROM rtl_account')" -eq 1 ]
}
grows() { [ "$(sql "$1" 'SELECT count(DISTINCT rank) = 3 AND count(*) > 1000 FROM rocpd_op')" = 1 ]; }

@test "a file whose collector is gone is not called running, and its line says why it is not complete" {
	"$rtl" run -o d.db --device soft "$demo" --ranks 2 --gpus 2 --dispatches 1000000 --rate 500 >out 2>err 3>&- &
	local runner=$!
	pids+=($runner)
	wait_until rows_grow d.db
	mkdir elsewhere
	ln -s ../d.db elsewhere/link.db
	for file in d.db elsewhere/link.db; do
		"$rtl" summary $file >running
		grep -q '^session .*  running$' running
		"$rtl" report $file -f --html page.html
		grep -q LIVE page.html
	done
	kill -KILL $runner "$(collector_of d.db)"
	wait $runner || true
	is_alone_in() { [ -z "$(collector_of d.db)" ]; }
	wait_until is_alone_in
	"$rtl" summary d.db >summary
	head -n 1 summary | grep -q '^SIMULATED INCOMPLETE: .* outstanding.*, not closed$'
	grep -q '^session .*  interrupted: its collector is gone$' summary
	not grep -Ew 'live|running' summary
	for file in d.db elsewhere/link.db; do
		"$rtl" report $file -f --html page.html
		grep -q 'interrupted: its collector is gone' page.html
		not grep -q LIVE page.html
	done
}

# Before it is open it would be another file than the one that was made.
open='until sqlite3 -readonly d.db "SELECT name FROM rtl_session" | grep -q .; do :; done; '

@test "a file that is renamed while it is written is reported as gone" {
	run -0 --separate-stderr "$rtl" run -o d.db --device soft \
		bash -c "$open"'"$0" --ranks 1 --steps 2; mv d.db e.db' "$demo"
	[[ $stderr == *"rtl: the record cannot be judged: $work/d.db: it was removed or renamed while it was written"* ]]
	[[ $("$rtl" summary e.db | head -n 1) == "SIMULATED complete: "* ]]
}

@test "a file that another record has replaced is not judged as this job's" {
	"$rtl" run -o other.db --device soft "$demo" --ranks 1 --steps 1
	run -3 --separate-stderr "$rtl" run --strict -o d.db --device soft \
		bash -c "$open"'"$0" --ranks 1 --steps 2; rm d.db*; cp other.db d.db' "$demo"
	[[ ${stderr_lines[-1]} == "rtl: the record cannot be judged: $work/d.db: it was replaced while it was written; "* ]]
	cmp other.db d.db
}

@test "ranks that did not find their socket any more are no part of a complete record" {
	# As the folder of a user goes with the last login, under a job that goes on.
	run -3 --separate-stderr "$rtl" run --strict -o d.db --device soft \
		bash -c 'rm -r "$XDG_RUNTIME_DIR/rtl"; "$0" --ranks 2 --gpus 2 --dispatches 100' "$demo"
	[[ ${stderr_lines[-1]} == "INCOMPLETE: 0 dispatched, "*", not watched all the time" ]]
}

@test "an rtl run that is killed before its command comes to the GPU: what then comes is recorded" {
	mkfifo gate
	"$rtl" run -o d.db --device soft bash -c 'echo $$ >command; read line <gate; exec "$0" --ranks 1 --dispatches 100' \
		"$demo" >out 2>err 3>&- &
	local runner=$!
	wait_until test -s command
	pids+=("$(cat command)")
	kill -KILL $runner
	wait $runner || true
	# Each is answered behind what the collector does of its own accord.
	# One rank: where no runner knows of more, the end of the first to come may be the end of all.
	for _ in 1 2 3; do "$rtl" ctl flush || true; done >flushes 2>&1
	echo go >gate
	closed() { [ "$(sql d.db 'SELECT count(*) FROM rtl_session WHERE end_ns IS NOT NULL')" = 1 ]; }
	wait_until closed
	[ "$(told out)" = "$(stored d.db)" ]
	[ "$(sql d.db 'SELECT value FROM rtl_meta WHERE key = "complete"')" = 1 ]
}

@test "a rank that starts after the command has ended is waited for and recorded" {
	mkfifo fifo
	# It may start once its parent is gone: the shell's own pid is the command's.
	run -5 --separate-stderr "$rtl" run -o late.db --device soft -- \
		bash -c '(while [ -d /proc/$$ ] && ! grep -q "State:.Z" /proc/$$/status; do read -rt 0.05 _ <>fifo; done; "$1" --ranks 1 --steps 2 >out) & exit 5' bash "$demo"
	[ "$(told out)" = "$(stored late.db)" ]
	[ "$(wc -l <out)" -eq 1 ]
	accounted late.db
}

# bats test_tags=apart
@test "a collector that cannot start is started until it can, and that is said once" {
	breakable_rtl
	"$rtl" run -o d.db --device soft bash -c \
		'while [ ! -e stop ]; do "$0" --ranks 2 --gpus 2 --dispatches 500 --rate 1000; done' \
		"$demo" >out 2>err 3>&- &
	local runner=$!
	pids+=($runner)
	wait_until rows_grow d.db
	touch broken
	kill -KILL "$(collector_of d.db)"
	wait_until has_tried 15
	rm broken
	rows=$(sql d.db 'SELECT count(*) FROM rocpd_op')
	wait_until rows_grow d.db
	touch stop
	wait $runner
	[ "$(grep -c 'died and does not start again: cannot store: it is broken' err)" -eq 1 ]
	[ "$(grep -c 'had died and was started again' err)" -eq 1 ]
	[ "$(told out | awk -F'|' '{n += $3} END {print n}')" -eq "$(sql d.db 'SELECT count(*) FROM rocpd_op')" ]
	accounted d.db
	[[ $(tail -n 1 err) == "SIMULATED complete: "* ]]
}

@test "a collector that never starts again takes neither the exit status nor patience" {
	breakable_rtl
	mkfifo gate
	"$rtl" run -o d.db --device soft bash -c 'touch begun; read line <gate; exit 5' 2>err 3>&- &
	local runner=$! status=0
	pids+=($runner)
	wait_until test -e begun
	touch broken
	kill -KILL "$(collector_of d.db)"
	wait_until has_tried 2
	echo go >gate
	wait_until is_alone $runner
	kill -TERM $runner
	wait $runner || status=$?
	[ "$status" -eq 5 ]
	grep -q 'collector: interrupted; the end of the record may be missing' err
}

row_of() { "$rtl" ls "${@:2}" --json | jq -c "[.sessions[] | select($1)]"; } # row_of CONDITION [OPTION...]

# bats test_tags=apart
@test "rtl ls lists what a collector has set aside, once, and where it lies" {
	start_service
	"$rtl" run --socket c.sock --device soft "$demo" --ranks 1 --steps 1 >out 2>err
	db=$(service_db)
	name=$(basename "$db" .db)
	[ "$(row_of '.state == "set aside"' --socket c.sock)" = '[]' ]
	kill -TERM $service
	wait $service
	# Its session was open, as far as the service knows, and the file is none any more.
	sqlite3 "store/.index-$(id -u)" 'UPDATE session SET end_realtime_ns = NULL'
	printf 'no database of ours' | dd of="$db" conv=notrunc status=none
	cp "$db" damaged
	start_service
	aside() { [ -n "$(find store -name "$name.db.corrupt-*" ! -name '*-wal' ! -name '*-shm')" ]; }
	wait_until aside
	file=$(find "$work/store" -name "$name.db.corrupt-*")
	cmp "$file" damaged
	listed() { [ "$(row_of '.state == "set aside"' --socket c.sock | jq length)" -eq 1 ]; }
	wait_until listed
	row_of '.state == "set aside"' --socket c.sock |
		jq -e --arg name "$name" --arg file "$file" \
			'.[0] | .session == $name and .database == $file and .dispatched == null and .live_processes == 0'
	"$rtl" ls --socket c.sock >table
	grep -q "^$name  *set aside " table
	# Where no collector is asked it is found among the user's own files.
	mkdir state/rtl
	cp "$file" "state/rtl/mine.db.corrupt-20260101T000000Z"
	touch "state/rtl/mine.db.corrupt-20260101T000000Z-wal"
	row_of '.session == "mine"' | jq -e 'length == 1 and (.[0] | .state == "set aside" and (.database | endswith("000000Z")))'
}

# bats test_tags=apart
@test "rtl ls finds what a user's own collector left, the newest alone where asked, each folder looked into once" {
	start_service "$work/state/rtl"
	"$rtl" run --socket c.sock --device soft "$demo" --ranks 1 --steps 1 >out 2>err
	kill -TERM $service
	wait $service
	db=$(find "$work/state/rtl" -name '*.db' ! -name index.db)
	name=$(basename "$db" .db)
	row_of '.state == "closed"' | jq -e --arg name "$name" --arg db "$db" \
		'length == 1 and .[0].session == $name and .[0].database == $db'
	"$rtl" summary "$name" | grep -q "^complete: \|SIMULATED complete: "
	# ASan cannot look for leaks in what is traced.
	traced_ls() { ASAN_OPTIONS=detect_leaks=0 strace -f -o calls -e trace=openat,open "$rtl" ls "$@" >table; }
	folders() { traced_ls; grep -c O_DIRECTORY calls; }
	few=$(folders)
	for i in {1..12}; do
		cp "$db" "${db%.db}-$i.db"
		touch -d "2026-01-01 00:00:$i" "${db%.db}-$i.db"
	done
	[ "$(folders)" -eq "$few" ]
	[ "$(wc -l <table)" -eq 14 ]
	"$rtl" ls -n 3 --json | jq -r '.sessions[].database' | sort >newest
	printf '%s\n' "$db" "${db%.db}-11.db" "${db%.db}-12.db" | sort | diff - newest
	# What is not shown is not read.
	traced_ls -n 3
	[ "$(grep -o "$name[-0-9]*\.db\"" calls | sort -u | wc -l)" -eq 3 ]
	run -2 "$rtl" ls -n 0
}

@test "rtl ls of a store opens none of the files that are what the index says, and shows what they hold" {
	start_service "$work/state/rtl"
	for mode in standard lite; do
		RTL_MODE=$mode "$rtl" run --socket c.sock --device soft "$demo" --ranks 2 --steps 1 >out.$mode 2>err.$mode
	done
	kill -TERM $service
	wait $service
	traced_ls() { ASAN_OPTIONS=detect_leaks=0 strace -f -o calls -e trace=openat,open "$rtl" ls "$@" >table; }
	opened() { grep -v ENOENT calls | grep -o '[^/"]*\.db"' | grep -v '^index' | sort -u | wc -l; }
	traced_ls --json
	[ "$(opened)" -eq 0 ]
	jq -e '.sessions | length == 2 and all(.state == "closed" and .processes == 2 and .dispatched > 0
		and .lost == 0 and .simulated and .bytes > 0 and .uid != null and .start_realtime_ns > 0)' table
	mv table by_index
	# What is not in it, or was changed since, tells itself, and the same.
	mv state/rtl/index.db away
	traced_ls --json
	[ "$(opened)" -eq 2 ]
	diff by_index table
	mv away state/rtl/index.db
	touch -d 2026-01-01 "$(jq -r '.sessions[0].database' by_index)"
	traced_ls --json
	[ "$(opened)" -eq 1 ]
	diff by_index table
	# A few are opened sooner than all of it is read.
	traced_ls -n 2
	[ "$(opened)" -eq 2 ]
}

@test "a file that is read while it is closed keeps its log, and that is said" {
	mkfifo gate held
	"$rtl" run -q -o d.db --device soft -- bash -c '"$0" --gpus 1 --dispatches 500; : <gate' "$demo" 2>err 3>&- &
	local runner=$!
	pids+=($runner)
	wait_until rows_grow d.db
	python3 - 3>&- <<-'END' &
		import sqlite3
		db = sqlite3.connect("file:d.db?mode=ro", uri=True)
		db.execute("BEGIN")
		db.execute("SELECT count(*) FROM rtl_dispatch").fetchone()
		open("held", "w").close()
		open("held").close()
	END
	local reader=$!
	pids+=($reader)
	: <held
	: >gate
	wait $runner
	grep -q "^rtl: .*/d.db was being read when it was closed: .*/d.db-wal is a part of it" err
	[ -s d.db-wal ]
	: >held
	wait $reader
	[ "$(sqlite3 d.db 'PRAGMA journal_mode=DELETE')" = delete ]
	[ ! -e d.db-wal ]
	"$rtl" summary --strict d.db >summary
	grep -q '^SIMULATED complete: 500 dispatched, 500 stored$' summary
}

@test "private runs are in rtl ls, found by their names from any folder, and taken by a verb without FILE" {
	mkdir a b elsewhere
	for name in a b; do
		(cd $name && "$rtl" run --device soft -o $name.db -- "$demo" --ranks 1 --steps 1 >out 2>err)
	done
	a=$(sql a/a.db 'SELECT name FROM rtl_session')
	b=$(sql b/b.db 'SELECT name FROM rtl_session')
	# As rtl run named it.
	grep -q "^rtl: session $a in " a/err
	cd elsewhere
	"$rtl" ls --json | tee listed.json
	[ "$(jq -r '.sessions[] | "\(.session) \(.state) \(.database)"' listed.json | sort)" = \
		"$(printf '%s\n' "$a closed $work/a/a.db" "$b closed $work/b/b.db" | sort)" ]
	run -0 --separate-stderr "$rtl" summary "$a"
	[[ ${lines[0]} == "SIMULATED complete: "* ]]
	[ -z "$stderr" ]
	run -0 --separate-stderr "$rtl" summary
	[ "$stderr" = "rtl: $work/b/b.db: the newest database, as no FILE or SESSION is named" ]
	touch ../a/a.db
	run -0 --separate-stderr "$rtl" summary
	[ "$stderr" = "rtl: $work/a/a.db: the newest database, as no FILE or SESSION is named" ]
	# One that its user has removed is gone from the list, too.
	rm ../a/a.db
	[ "$("$rtl" ls --json | jq -r '.sessions[].session')" = "$b" ]
	run -1 --separate-stderr "$rtl" summary "$a"
	[[ $stderr == "rtl: $a: "* ]]
	# A live one is listed once.
	cd "$work"
	"$rtl" run -q --device soft -o live.db -- "$demo" --ranks 1 --dispatches 1000000 --rate 100 >out 2>err 3>&- &
	pids+=($!)
	has_two() { [ "$("$rtl" ls --json | jq -c '[.sessions[].state] | sort')" = '["closed","live"]' ]; }
	wait_until has_two
}

@test "where no list of private runs can be kept a job is recorded as ever" {
	: >file
	XDG_STATE_HOME=$work/file "$rtl" run --device soft -o t.db -- "$demo" --ranks 1 --steps 1 >out 2>err
	[ "$(grep -c '^rtl: ' err)" -eq 2 ]
	env -u XDG_STATE_HOME -u HOME "$rtl" run --strict -f --device soft -o t.db -- "$demo" --ranks 1 --steps 1 >out 2>err
	accounted t.db
}

# bats test_tags=apart
@test "the list of private runs keeps the newest 256" {
	mkdir -p state/rtl/private
	for ((n = 0; n < 256; n++)); do
		ln -s "$work/gone-$n.db" state/rtl/private/old-$n.db
		touch -h -d @$((1577836800 + n)) state/rtl/private/old-$n.db
	done
	"$rtl" run -q --device soft -o t.db -- "$demo" --ranks 1 --steps 1 >out 2>err
	[ "$(ls state/rtl/private | wc -l)" -eq 256 ]
	[ ! -L state/rtl/private/old-0.db ]
	[ -L state/rtl/private/old-1.db ]
	[ "$("$rtl" ls --json | jq -r '.sessions[].database')" = "$work/t.db" ]
}

@test "rtl ls lists the sessions of a user, since a time, or those that failed, and says where there are none" {
	"$rtl" run -q --device soft -o good.db -- "$demo" --ranks 1 --steps 1 >out 2>err
	run "$rtl" run -q --device soft -o bad.db -- sh -c '"$0" --ranks 1 --steps 1; exit 3' "$demo"
	run "$rtl" run -q --device soft -o killed.db -- sh -c '"$0" --ranks 1 --steps 1; kill -9 $$' "$demo"
	"$rtl" run -q --device soft -o old.db -- "$demo" --ranks 1 --steps 1 >out 2>err
	sqlite3 old.db "UPDATE rtl_session SET start_realtime_ns = strftime('%s', '2020-05-05 12:00', 'utc') * 1000000000"
	listed() { "$rtl" ls --json "$@" | jq -r '.sessions[].database' | sed 's,.*/,,' | sort | paste -sd ' '; }
	[ "$(listed)" = "bad.db good.db killed.db old.db" ]
	[ "$(listed --failed)" = "bad.db killed.db" ]
	[ "$(listed --since 2h)" = "bad.db good.db killed.db" ]
	[ "$(listed --since 2020-05-05)" = "bad.db good.db killed.db old.db" ]
	[ "$(listed --since '2020-05-05 12:00')" = "bad.db good.db killed.db old.db" ]
	[ "$(listed --since '2020-05-05 12:00:01')" = "bad.db good.db killed.db" ]
	[ "$(listed --user "$(id -un)" --failed)" = "bad.db killed.db" ]
	[ "$(listed --user "$(id -u)" -n 1 --since 2020-05-06 --failed)" = killed.db ]
	"$rtl" ls | grep -Eq " $(id -un) +$work/good.db"
	[ "$("$rtl" ls --json | jq -r '.sessions[0].user')" = "$(id -un)" ]
	for words in "--user 4294967" "--since 9999-01-01" "--user 4294967 --failed --json"; do
		# shellcheck disable=SC2086 # words
		run -1 --separate-stderr "$rtl" ls $words
		[ -z "$output" ]
		[[ $stderr == "rtl: no session is of that --"*"; rtl ls without it lists all" ]]
	done
	for words in "--user no-such-user" "--user -1" "--since yesterday" "--since 2020-13-01"; do
		# shellcheck disable=SC2086 # words
		run -2 "$rtl" ls $words
		[ "${#lines[@]}" -eq 1 ]
	done
}

@test "--name: all verbs find the session by it, the ranks of a launch are one session, and no other name is made of it" {
	"$rtl" run -q --name first --device soft "$demo" --ranks 1 --steps 1 >out
	[ -e rtl-first.db ]
	[ "$(cd run && "$rtl" summary --json first | jq -r .session.name)" = first ]
	for rank in 0 1; do
		RTL_RANK=$rank "$rtl" run -q --name both -o two.db --device soft "$demo" --steps 1 >>out.two &
	done
	wait
	[ "$(cd run && "$rtl" summary --json both | jq -c '[.ranks[].rank]')" = '[0,1]' ]
	[ "$(told out.two)" = "$(stored two.db)" ]
	[ "$("$rtl" ls --json | jq '.sessions | length')" = 2 ]
	"$rtl" rm both
	[ "$(ls state/rtl/private)" = first.db ]
	# A newer one of that name takes it, and the older one stays in the list.
	"$rtl" run -q --name first -o again.db --device soft "$demo" --ranks 1 --steps 2 >out
	[ "$(readlink state/rtl/private/first.db)" -ef again.db ]
	[ "$(readlink state/rtl/private/first-2.db)" -ef rtl-first.db ]
	(cd run && "$rtl" summary first-2 >../out)
	[ "$("$rtl" ls --json | jq '.sessions | length')" = 2 ]
	[ "$(RTL_JOB_ID=key "$rtl" run -q --name mine sh -c 'echo $RTL_JOB_ID')" = mine ]
	for name in '' .a -a 'a b' a/b ä "$(printf '%048d' 0)"; do
		run -125 "$rtl" run --name "$name" true
		[ "${#lines[@]}" -eq 1 ]
	done
}

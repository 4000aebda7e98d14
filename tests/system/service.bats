#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Jobs at the node's service: it dies, comes again, or is away while they run.
load lib.bash
load service.bash

bats_require_minimum_version 1.5.0

@test "a service: one session a job, the runner waits for its end" {
	start_service
	"$rtl" run --socket c.sock --device soft "$demo" --ranks 2 --steps 2 >out 2>err
	db=$(service_db)
	[ "$(told out)" = "$(stored "$db")" ]
	accounted "$db"
	tail -n 1 err | grep -q '^SIMULATED complete: '
	grep -q "$db" err
	# Its collector counts no more: what is not known is no 0.
	name=$(basename "$db" .db)
	job=$(sql "$db" 'SELECT job FROM rtl_session')
	"$rtl" stat --socket c.sock -b -n 1 "$name" | grep -q "^$job  closed  SIMULATED complete: [1-9]"
	"$rtl" stat --socket c.sock --json -n 1 "$name" | jq -e '.sessions[0] | .closed and .dispatched == null and .simulated == null'
	# Dead in the middle of a kernel, though the command says that all is well.
	run -3 timeout 300 "$rtl" run --strict --socket c.sock --device soft sh -c \
		'"$0" --ranks 1 --steps 2 --hang-at 1 --no-wait --exit-mode kill; true' "$demo"
}

@test "sessions of a service are called as their jobs, and are listed and found after its restart" {
	start_service
	for job in one one 'of two'; do
		RTL_JOB_ID=$job "$rtl" run --socket c.sock --device soft "$demo" --ranks 1 --steps 1 >out 2>"err.$job"
		kill -TERM $service && wait $service
		start_service
	done
	# Where the words of a user are no name it has the checksum.
	grep -q '^rtl: session one in ' err.one
	grep -q '^rtl: session job-[0-9a-f]* in ' 'err.of two'
	export RTL_SOCKET=$work/c.sock
	[ "$("$rtl" ls --json | jq -c '[.sessions[] | [.job, .state, .dispatched > 0]]')" = \
		'[["one","closed",true],["one","closed",true],["of two","closed",true]]' ]
	# Of two that are called alike the name is the newer one's.
	[ "$("$rtl" ls | awk 'NR > 1 {print $1}' | sed 's/job-[0-9a-f]*/HASH/' | paste -sd ' ')" = "HASH one HASH" ]
	newer=$("$rtl" ls --json | jq -r '.sessions[1].session')
	[ "$("$rtl" summary --json one | jq -r .session.name)" = "$newer" ]
	[ "$("$rtl" summary --json 2>/dev/null | jq -r .session.name)" = "$("$rtl" ls --json | jq -r '.sessions[2].session')" ]
	"$rtl" rm one
	is_removed() { [ "$("$rtl" ls --json | jq '.sessions | length')" = 2 ]; }
	wait_until is_removed
	[ "$("$rtl" ls | awk 'NR > 1 {print $1}' | head -n 1)" = one ]
	# One whose file was removed by hand meanwhile is listed no longer.
	kill -TERM $service && wait $service
	rm "$(find store -name '*.db' ! -name index.db | head -n 1)"
	start_service
	[ "$("$rtl" ls --json | jq '.sessions | length')" = 1 ]
}

# torchrun_ranks COUNT: with torchrun's variables, as without a rendezvous id: the same ones each time
torchrun_ranks() {
	rtl="$rtl" demo="$demo" bash -c 'for ((r = 0; r < $1; r++)); do
		RANK=$r LOCAL_RANK=$r WORLD_SIZE=$1 LOCAL_WORLD_SIZE=$1 GROUP_RANK=0 TORCHELASTIC_RUN_ID=none \
			MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 \
			"$rtl" run -q --socket c.sock --device soft "$demo" --steps 2 || exit
	done' launch "$1"
}

@test "a session that is being read goes when it no longer is, and no later one goes in its place" {
	"$collectord" --socket "$work/c.sock" --db-dir "$work/store" --keep-sessions 1 >>collector.log 2>&1 3>&- &
	pids+=($!)
	wait_until answers
	job() { RTL_JOB_ID=$1 "$rtl" run -q --socket "$work/c.sock" --device soft -- "$demo" --ranks 1 --steps 1 >out 2>err; }
	job first
	first=$(service_db)
	coproc reader { exec sqlite3 "file:$first?mode=ro" 2>&1; }
	pids+=($reader_PID)
	echo 'BEGIN; SELECT count(*) FROM rtl_session;' >&"${reader[1]}"
	read -r <&"${reader[0]}"
	job second
	second=$(service_db | grep -v "^$first\$")
	# Retention reads the size of each file, and looks then.
	has_looked() { [ ! -e "$second" ] || [ "$(sql "$(find store -name '.index-*[0-9]')" 'SELECT count(bytes) FROM session')" = 2 ]; }
	wait_until has_looked
	echo .quit >&"${reader[1]}"
	one_is_gone() { [ ! -e "$first" ] || [ ! -e "$second" ]; }
	wait_until one_is_gone
	[ -e "$second" ]
}

@test "a launch with the key of an earlier one is a session of its own" {
	start_service
	torchrun_ranks 1
	torchrun_ranks 2
	for db in $(service_db); do
		sql "$db" 'SELECT group_concat(rank) FROM rtl_process'
		accounted "$db"
	done >ranks
	[ "$(sort ranks)" = "$(printf '0\n0,1')" ]
}

@test "a collector of the user's own has the jobs that name no other" {
	own=$XDG_RUNTIME_DIR/rtl/collectord.sock
	"$collectord" --socket "$own" --db-dir "$work/store" >>collector.log 2>&1 3>&- &
	pids+=($!)
	wait_until listens "$own"
	"$rtl" run --device soft "$demo" --ranks 2 --steps 2 >out 2>err
	[ "$(told out)" = "$(stored "$(service_db)")" ]
	grep -q "$(service_db)" err
	# Without a wrapper; the shim by itself does not know of it.
	run -0 --separate-stderr "$rtl" env
	[[ $output == *"export RTL_SOCKET=$own"* ]]
	run -0 --separate-stderr env RTL_SOCKET="$work/other" "$rtl" env
	[[ $output == *"export RTL_SOCKET=$work/other"* ]]
	run -0 "$rtl" doctor --device soft
	[[ $output != *"no service on this node"* ]]
	# A user that asks for a file has it.
	"$rtl" run -q -o mine.db --device soft "$demo" --ranks 1 --gpus 1 --dispatches 5 >out
	[ "$(told out)" = "$(stored mine.db)" ]
	# A dead service is in no run's way.
	kill -KILL "${pids[0]}"
	wait "${pids[0]}" || true
	run -0 --separate-stderr "$rtl" env
	[[ $output != *RTL_SOCKET* ]]
	"$rtl" run -q true
	ls rtl-*.db
}

@test "a service that dies when a job greets it: the next one has the job" {
	# The socket outlives it, as under systemd.
	python3 - "$work/c.sock" "$collectord" --db-dir "$work/store" >>collector.log 2>&1 3>&- <<-'END' &
		import os, socket, sys
		listener = socket.socket(socket.AF_UNIX)
		listener.bind(sys.argv[1])
		listener.listen()
		open("listens", "w").close()
		listener.accept()[0].close()
		os.dup2(listener.fileno(), 3)
		os.set_inheritable(3, True) # it may have been 3
		os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
		os.execv(sys.argv[2], sys.argv[2:])
	END
	pids+=($!)
	wait_until test -e listens
	"$rtl" run --strict --socket c.sock --device soft "$demo" --ranks 2 --steps 2 >out
	[ "$(told out)" = "$(stored "$(service_db)")" ]
}

@test "a service that is restarted in the middle of a job" {
	start_service
	mkfifo gate
	"$rtl" run --socket c.sock --device soft bash -c '"$0" --ranks 1 --steps 2 >out.0; touch half; read line <gate; "$0" --ranks 1 --steps 2 >out.1' "$demo" 2>err 3>&- &
	runner=$!
	pids+=($runner)
	wait_until test -e half
	kill -TERM $service
	wait $service
	start_service
	echo go >gate
	wait $runner
	tail -n 1 err | grep -q '^SIMULATED complete: '
	cat out.0 out.1 >out
	total() { awk -F'|' '{ n += $3 } END { print n }'; }
	[ "$(told out | total)" = "$(sql "$(service_db)" 'SELECT count(*) FROM rocpd_op')" ]
	# Not since the service was started again.
	[ "$("$rtl" ls --socket c.sock --json | jq -c '[.sessions[].start_realtime_ns / 1e6 | floor]')" = \
		"[$(sql "$(service_db)" 'SELECT start_realtime_ns / 1000000 FROM rtl_session')]" ]
}

went_unwatched() { # went_unwatched [FAULT]: as it must
	RTL_FAULT=${1-} start_service
	mkfifo gate
	"$rtl" run --strict --socket c.sock --device soft bash -c 'touch begun; read line <gate
		"$0" --ranks 2 --gpus 2 --dispatches 100; touch half; read line <gate' "$demo" >out 2>err 3>&- &
	local runner=$! status=0
	pids+=($runner)
	wait_until test -e begun
	kill -KILL $service
	wait $service || true
	echo go >gate
	wait_until test -e half
	start_service
	echo go >gate
	wait $runner || status=$?
	[ "$status" -eq 3 ]
	[[ $(tail -n 1 err) == "INCOMPLETE: 0 dispatched, "*", not watched all the time" ]]
	run -1 grep 'no kernel was seen' err
	"$rtl" summary --json "$(service_db)" | jq -e '.complete | not'
}

@test "ranks that came and went while the service was away are no part of a complete record" {
	went_unwatched
}

@test "ranks that came and went, and the service had died before their session was in its file" {
	collectord=$RTL_BUILD/tests-bin/collectord-faults
	went_unwatched file_made:1:hang
}

@test "a session that a service closed before it was killed is judged as it is, not begun anew" {
	start_service
	mkfifo gate
	"$rtl" run --strict --socket c.sock --device soft bash -c '"$0" --ranks 2 --gpus 2 --dispatches 100; touch half; read line <gate' \
		"$demo" >out 2>err 3>&- &
	local runner=$! db
	pids+=($runner)
	wait_until test -e half
	again() { kill -KILL $service; wait $service || true; start_service; }
	db=$(service_db)
	# Of a process that has ended only the collector has what is not stored yet.
	drained() { [ "$(sql "$db" 'SELECT count(*) FROM rtl_process WHERE drained = 1')" = 2 ]; }
	wait_until drained
	again
	# No process of it is left, as far as this one knows.
	closed() { [ "$(sql "$db" 'SELECT count(*) FROM rtl_session WHERE end_ns IS NOT NULL')" = 1 ]; }
	wait_until closed
	again
	echo go >gate
	wait $runner
	[ "$(told out)" = "$(stored "$db")" ]
	[[ $(tail -n 1 err) == "SIMULATED complete: 200 dispatched, 200 stored" ]]
	[ "$(service_db)" = "$db" ]
}

@test "a file that is removed while a service writes it is no complete record" {
	start_service
	# One file, and all that lies in the store: as it is when a folder is cleaned up.
	for what in '*.db' '*'; do
		run -3 --separate-stderr "$rtl" run --strict --socket c.sock --device soft bash -c \
			'"$0" --ranks 1 --dispatches 100 && find store -mindepth 1 ! -name index.db -name "$1" -delete' "$demo" "$what"
		[ "${stderr_lines[-1]}" = "SIMULATED INCOMPLETE: 100 dispatched, 100 stored in a file that was removed or renamed" ]
		run -1 grep 'no kernel was seen' <<<"$stderr"
	done
	[ "$(grep -c 'closed: SIMULATED INCOMPLETE: 100 dispatched' collector.log)" = 2 ]
}

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
	"$rtl" stat --socket c.sock -b -n 1 "$name" | grep -q "^$name  closed  SIMULATED complete: [1-9]"
	"$rtl" stat --socket c.sock --json -n 1 "$name" | jq -e '.sessions[0] | .closed and .dispatched == null and .simulated == null'
	# Dead in the middle of a kernel, though the command says that all is well.
	run -3 timeout 300 "$rtl" run --strict --socket c.sock --device soft sh -c \
		'"$0" --ranks 1 --steps 2 --hang-at 1 --no-wait --exit-mode kill; true' "$demo"
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
	# Of who has ended only the collector has what it has not stored yet.
	drained() { [ "$(sql "$db" 'SELECT count(*) FROM rtl_process WHERE drained = 1')" = 2 ]; }
	wait_until drained
	again
	# Nobody of it is there any more, as far as this one knows.
	closed() { [ "$(sql "$db" 'SELECT count(*) FROM rtl_session WHERE end_ns IS NOT NULL')" = 1 ]; }
	wait_until closed
	again
	echo go >gate
	wait $runner
	[ "$(told out)" = "$(stored "$db")" ]
	[[ $(tail -n 1 err) == "SIMULATED complete: 200 dispatched, 200 stored" ]]
	[ "$(service_db)" = "$db" ]
}

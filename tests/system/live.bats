#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The database while the job runs, and the moment it ends.
load lib.bash
bats_require_minimum_version 1.5.0

all_ranks() { # all_ranks DATABASE RANKS: rows of every rank are visible
	[ "$(sql "$1" 'SELECT count(DISTINCT rank) FROM rocpd_op' 2>/dev/null)" = "$2" ]
}

@test "another process sees rows of all ranks while the job runs" {
	"$rtl" run -o t.db --device soft -- "$demo" --ranks 4 --dispatches 2000000 --rate 5000 >out 2>err 3>&- &
	pids+=($!)
	wait_until all_ranks t.db 4
	local before now
	before=$(sql t.db 'SELECT count(*) FROM rocpd_op')
	more() { [ "$(sql t.db 'SELECT count(*) FROM rocpd_op')" -gt "$before" ]; }
	wait_until more
	# The newest row was dispatched less than a second before it could be read.
	fresh() {
		now=$(awk '{printf "%.0f", $1 * 1e9}' /proc/uptime)
		[ "$(sql t.db "SELECT max(submit_ns) > $now - 1000000000 FROM rocpd_op")" -eq 1 ]
	}
	wait_until fresh
	run -0 "$rtl" stat -n 1 --json
	python3 -c 'import json,sys; s = json.load(sys.stdin); assert s["schema"] == 1' <<<"$output"
	kill -TERM "${pids[0]}"
	wait_until sh -c "! kill -0 ${pids[0]} 2>/dev/null"
	accounted t.db
}

@test "a reader that was open all along does not stop the end" {
	"$rtl" run -o t.db --device soft -- "$demo" --ranks 2 --steps 5 >out
	chmod 0555 .
	run -0 sql t.db 'SELECT count(*) > 0 FROM rocpd_op'
	chmod 0755 .
	[ "$output" = 1 ]
}

@test "under the service the owner reads live, another uid does not" {
	[ "$(id -u)" -eq 0 ] || {
		echo "needs root: it starts the service as an administrator does"
		return 1
	}
	chmod 0755 "$work"
	mkdir -m 0755 store
	"$collectord" --socket "$work/s.sock" --db-dir "$work/store" >collector.log 2>&1 3>&- &
	pids+=($!)
	wait_until listens "$work/s.sock"
	[ "$(stat -c %a s.sock)" = 666 ]
	mkdir -m 0777 home
	cd home
	chmod 0777 "$work/truth"
	setpriv --reuid 4321 --regid 4321 --clear-groups env HOME="$work/home" XDG_RUNTIME_DIR= XDG_STATE_HOME="$work/home" \
		"$rtl" run --socket "$work/s.sock" --device soft -- \
		"$demo" --ranks 2 --dispatches 2000000 --rate 5000 >out 2>err 3>&- &
	local runner=$!
	pids+=($runner)
	cd "$work"
	database() { db=$(ls store/4321/*.db 2>/dev/null | head -1) && [ -n "$db" ]; }
	wait_until database
	as() { setpriv --reuid "$1" --regid "$1" --clear-groups sqlite3 -readonly -cmd '.timeout 5000' "$db" "$2"; }
	owner_sees() { [ "$(as 4321 'SELECT count(DISTINCT rank) FROM rocpd_op' 2>/dev/null)" = 2 ]; }
	wait_until owner_sees
	run ! as 4322 'SELECT count(*) FROM rocpd_op'
	kill -TERM "$runner"
	wait_until sh -c "! kill -0 $runner 2>/dev/null"
	gone() { [ ! -e "$db-wal" ]; }
	wait_until gone
	run -0 as 4321 'SELECT count(*) > 0 FROM rocpd_op'
	[ "$output" = 1 ]
	run ! as 4322 'SELECT count(*) FROM rocpd_op'
	accounted "$db"
	run -0 sql store/index.db 'SELECT count(*) FROM sqlite_master'
}

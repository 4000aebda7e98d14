#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Ranks wait in a collective which one of them never enters: that rank is named while they live and after
# they have died. RCCL is a stand-in (fake_rccl.c); by the script its kernels never end.
load ../../system/lib.bash
bats_require_minimum_version 1.5.0

export ASAN_OPTIONS=detect_leaks=0:use_sigaltstack=0
program=$RTL_BUILD/tests-bin/waiting-calls

start() { # start ABSENT: four ranks, three all-reduces each, then one that does not end
	export SOFTGPU_COUNT=1 SOFTGPU_FAULT='kernel ncclDevKernel_Generic_1#3 fault=never'
	unset SOFTGPU_SCRIPT
	head -c 128 /dev/urandom >id
	"$rtl" run -o t.db --device soft -- sh -c '
		for rank in 0 1 2 3; do
			RTL_RANK=$rank "$0" $rank 4 id 3 "$1" >out.$rank &
		done
		wait' "$program" "$1" >out 2>err 3>&- &
	runner=$!
	pids+=($runner)
}

ask() { # ask FILTER: of what the file says now
	local said
	said=$("$rtl" outstanding --json t.db 2>/dev/null) && jq -e "$1" <<<"$said" >/dev/null
}


collector() { # the pid of the private collector that writes our file
	local pid
	for pid in /proc/[0-9]*; do
		grep -qx collectord "$pid/comm" 2>/dev/null &&
			grep -qzFx "$(readlink -f t.db)" "$pid/cmdline" 2>/dev/null && echo "${pid#/proc/}" && return 0
	done
	return 1
}

waits='[.waiting[] | select(.comm_seq == 3 and .op == "ncclAllReduce" and .behind == 1 and .bytes == 16384)] | length'

@test "the rank that is not in the collective is named, live, and after its collector died" {
	start 2
	wait_until ask ".alive and .odd_ranks == [2] and ($waits) == 3"
	session=$(sql t.db "SELECT name FROM rtl_session")
	run -0 --separate-stderr "$rtl" stat --outstanding "$session"
	[ -z "$stderr" ]
	[ "$(sed 's,…,.,g' <<<"$output" | awk 'length > 100' | wc -l)" -eq 0 ]
	sed 1d <<<"$output" | tr -s ' \n' ' ' >screen
	grep -Eq 'SIMULATED Rank 2 is not in all_reduce #3 of communicator 0x[0-9a-f]+: it last finished ncclDevKernel_Generic_1 [0-9.]+ s ago and has submitted nothing since; its last call in that communicator was all_reduce #2; ranks 0-1,3 wait in it' screen
	grep -Eq '> 2 - - - [0-9.]+ [0-9:.]+ - - idle since ncclDevKernel_Generic_1' screen
	grep -Eq ' 0 0 [0-9]+ 3 [0-9.]+ [0-9:.]+ 1 - all_reduce #3, 16.4 kB, 0x' screen
	run -0 "$rtl" stat --outstanding --json "$session"
	[ "$(jq -c '[.schema, .sessions[0].odd_ranks, .sessions[0].alive]' <<<"$output")" = '[1,[2],true]' ]
	# Another collector reports the same.
	local first second
	first=$(collector)
	kill -9 "$first"
	restarted() { second=$(collector) && [ "$second" != "$first" ]; }
	wait_until restarted
	looked() {
		local said
		said=$("$rtl" stat --outstanding --json "$session" 2>/dev/null) &&
			jq -e ".sessions[0] | .odd_ranks == [2] and ($waits) == 3" <<<"$said" >/dev/null
	}
	wait_until looked
	# One of the waiting ranks is killed: it is named first, then the absent rank.
	kill -9 "$(jq -n --argjson o "$("$rtl" outstanding --json t.db)" '[$o.waiting[] | select(.rank == 0)][0].pid')"
	wait_until ask '.odd_ranks == [0, 2] and (.sentence | contains("SIGKILL"))'
	"$rtl" outstanding t.db | tr -s ' \n' ' ' >screen
	grep -Eq 'Rank 0 died \(SIGKILL\) in all_reduce #3 of communicator 0x[0-9a-f]+, submitted [0-9.]+ s before; of the others, rank 2 is not in all_reduce #3' screen
	grep -q 'ranks 1,3 wait in it' screen
	# All of them are killed.
	for pid in $("$rtl" outstanding --json t.db | jq '.waiting[] | select(.rank != 0) | .pid'); do
		kill -9 "$pid"
	done
	wait_until sh -c "! kill -0 $runner 2>/dev/null"
	run -0 "$rtl" outstanding --json t.db
	[ "$(jq -c '[.alive, .odd_ranks, .outstanding]' <<<"$output")" = '[false,[2],6]' ]
	[ "$(jq "$waits" <<<"$output")" -eq 3 ]
	"$rtl" outstanding t.db | tr -s ' \n' ' ' >screen
	grep -Eq '^SIMULATED Rank 2 was not in all_reduce #3 of communicator 0x[0-9a-f]+: it died \(SIGKILL\), having finished ncclDevKernel_Generic_1 [0-9.]+ s before as its last kernel; .*; ranks 0-1,3 waited in it' screen
	"$rtl" outstanding --csv t.db >rows.csv
	[ "$(wc -l <rows.csv)" -eq 5 ]
	[ "$(python3 -c 'import csv; print([r["comm_seq"] for r in csv.DictReader(open("rows.csv"))])')" = "['3', '3', '', '3']" ]
	[ "$(sql t.db 'SELECT count(*) FROM rtl_in_flight')" -eq 0 ]
}

@test "no rank stands out if all wait in the same collective" {
	start 9
	wait_until ask "(.odd_ranks == []) and ($waits) == 4"
	"$rtl" outstanding t.db | tr -s ' \n' ' ' >screen
	grep -Eq '^SIMULATED No rank stands out: all 4 wait in all_reduce #3 of communicator 0x[0-9a-f]+, for [0-9.]+ s' screen
}

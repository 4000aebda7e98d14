#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# rtl outstanding and rtl stat --outstanding: what ranks hang in, and which is the odd one out. With
# RCCL's calls: tests/shim/calls/outstanding.bats.
load lib.bash
bats_require_minimum_version 1.5.0

allreduce=_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE
gemm=Cijk_Alik_Bljk_HHS_BH_MT128x128x16_MI32x32x8x1_SE_1LDSB0_GRVW8_K1_WG16_16_1

start() { # start OPTION...: four ranks of the demo
	export SOFTGPU_COUNT=4
	"$rtl" run -o t.db --device soft -- "$demo" --ranks 4 --gpus 4 --steps 30 "$@" >out 2>err 3>&- &
	runner=$!
	pids+=($runner)
}

ask() { # ask FILTER: of what the file says now
	local said
	said=$("$rtl" outstanding --json t.db 2>/dev/null) && jq -e "$1" <<<"$said" >/dev/null
}

one_line() { tr -s ' \n' ' '; }

ended() { ! kill -0 "$runner" 2>/dev/null; }

@test "a rank that hangs in a kernel is named while it lives, when it is killed, and after all ended" {
	start --hang-at 7 --fault-rank 2
	wait_until ask '.alive and .odd_ranks == [2] and ([.waiting[] | select(.state == "idle")] | length) == 3'
	"$rtl" outstanding t.db | one_line >screen
	grep -Eq '^SIMULATED Rank 2 is the only one in kernel wait_for_flag, for [0-9.]+ s; ranks 0-1,3 have nothing in flight, rank 0 last finished multi_tensor_apply_kernel [0-9.]+ s ago' screen
	grep -Eq '> 2 2 0 [0-9]+ [0-9.]+ [0-9:.]+ 0 optimizer kernel wait_for_flag' screen
	# The same by a name, from the collector; and what it takes and what not.
	run -0 --separate-stderr "$rtl" stat --outstanding "$(sql t.db 'SELECT name FROM rtl_session')"
	[ -z "$stderr" ]
	one_line <<<"$output" | grep -q 'Rank 2 is the only one in kernel wait_for_flag'
	run -2 "$rtl" stat --outstanding -n 2
	run -1 "$rtl" stat --outstanding no-such-session
	# The books know the dispatch that no frame was sent for.
	[ "$(sql t.db 'SELECT sum(pending) FROM rtl_account')" -eq 1 ]
	[ "$(sql t.db 'SELECT count(*) FROM rtl_in_flight f JOIN rtl_kernel k ON k.id = f.description_id
		WHERE k.name = "wait_for_flag" AND f.behind = 0 AND f.submit_ns < f.taken_ns')" -eq 1 ]
	# The demo ends its other ranks.
	kill -9 "$("$rtl" outstanding --json t.db | jq '.waiting[] | select(.rank == 2) | .pid')"
	wait_until ended
	run -0 "$rtl" outstanding t.db
	one_line <<<"$output" | grep -Eq '^SIMULATED Rank 2 died \(SIGKILL\) in kernel wait_for_flag, submitted [0-9.]+ s before; '
	ask '.alive == false and .odd_ranks == [2] and .outstanding == 1'
	[ "$(sql t.db 'SELECT count(*) FROM rtl_in_flight')" -eq 0 ]
	[ "$(sql t.db 'SELECT count(*) FROM rtl_process WHERE end_ns IS NULL')" -eq 0 ]
	accounted t.db
}

@test "rtl stat and rtl summary say what a job hangs in, and nothing of one that gets on and has a stopped rank" {
	SOFTGPU_COUNT=2 "$rtl" run -o stopped.db --device soft -- "$demo" --ranks 2 --dispatches 2000000 --rate 500 \
		>out.stopped 2>err.stopped 3>&- &
	pids+=($!)
	# What is in flight there ends, but its shim does not see it.
	stops_with_work() {
		local pid
		pid=$(sql stopped.db 'SELECT pid FROM rtl_process WHERE rank = 1' 2>/dev/null) && [ -n "$pid" ] || return 1
		gets_on=$(sql stopped.db 'SELECT name FROM rtl_session')
		kill -STOP "$pid"
		"$rtl" ctl flush "$gets_on" >flushed
		[ "$(sql stopped.db "SELECT count(*) FROM rtl_in_flight f JOIN rtl_process p ON p.id = f.process_id WHERE rank = 1")" -eq 0 ] || return 0
		kill -CONT "$pid"
		return 1
	}
	wait_until stops_with_work
	start --hang-at 3 --fault-rank 2
	named() { session=$(sql t.db 'SELECT name FROM rtl_session' 2>/dev/null) && [ -n "$session" ]; }
	wait_until named
	timeout 900 "$rtl" stat -b -i 1 "$session" | grep -m 1 -B 1 -A 1 'hangs in' >line
	[[ $(sed -n 2p line) =~ ^Rank\ 2\ hangs\ in\ wait_for_flag\ for\ [0-9.]+\ s$ ]]
	[[ $(sed -n 1p line) == *" processes live "* ]]
	[[ $(sed -n 3p line) == "RANK  GPU "* ]]
	"$rtl" stat -n 1 --json "$session" | jq -e '.sessions[0] | .hang_ns >= 1e10 and (.hang | startswith("Rank 2 hangs in wait_for_flag for "))'
	"$rtl" summary t.db | tail -n 1 | grep -Eq '^SIMULATED reason: Rank 2 hangs in wait_for_flag for [0-9.]+ s, so far; rtl outstanding shows every rank'
	long_ago() {
		local since_ns
		since_ns=$(sql stopped.db 'SELECT min(submit_ns) FROM rtl_in_flight')
		[ "${since_ns:-0}" -gt 0 ] && awk -v since_ns="$since_ns" '{exit $1 - since_ns / 1e9 < 12}' /proc/uptime
	}
	wait_until long_ago
	"$rtl" stat -n 1 --json "$gets_on" >stopped.json
	jq -e '.sessions[0].hang == null and .sessions[0].hang_ns == null and any(.ranks[]; .rank == 1 and .pending > 0)' stopped.json
	"$rtl" stat -b -n 1 "$gets_on" >table
	"$rtl" summary stopped.db >>table
	not grep -E 'hang|in kernel' table
}

@test "without RCCL's calls kernels of communication are compared by their number" {
	# The 23rd all-reduce ends nowhere; the rank of GPU 3 hangs before it.
	export SOFTGPU_FAULT="kernel $allreduce#22 fault=never;kernel $gemm#90 gpu=3 fault=never"
	start
	wait_until ask '.odd_ranks == [3] and ([.waiting[] | select(.communication == "allreduce" and .nth == 23)] | length) == 3'
	"$rtl" outstanding t.db | one_line >screen
	grep -Eq '^SIMULATED Rank 3 is not in kernel ncclDevKernel_AllReduce_Sum_f32_RING_LL \(its 23rd allreduce\): it is in kernel Cijk_Alik_Bljk_HHS_BH_MT[^ ]* for [0-9.]+ s; ' screen
	grep -q 'ranks 0-2 wait in it' screen
}

@test "no rank stands out of a job that progresses, or that has ended well" {
	"$rtl" run -o t.db --device soft -- "$demo" --ranks 2 --dispatches 2000000 --rate 5000 >out 2>err 3>&- &
	runner=$!
	pids+=($runner)
	both() { [ "$(sql t.db 'SELECT count(DISTINCT rank) FROM rocpd_op' 2>/dev/null)" = 2 ]; }
	wait_until both
	# A rank that stands still for a second is rightly named, as long as it does.
	wait_until ask '.alive and .odd_ranks == []'
	kill -TERM "$runner"
	wait_until ended
	"$rtl" run -f -o t.db --device soft -- "$demo" --ranks 2 --steps 2 >out
	run -0 "$rtl" outstanding t.db
	[ "${lines[0]}" = "SIMULATED Nothing is outstanding" ]
	run -1 "$rtl" outstanding missing.db
	run -2 "$rtl" outstanding t.db t.db
}

@test "rtl outstanding prints the odd rank, its last kernel and the queues in 100 columns" {
	export LC_ALL=C.UTF-8 # an ellipsis
	python3 "$here/fixture.py" hung "$here/../../collectord/db/schema" hung.db
	"$rtl" outstanding hung.db >screen
	[ "$(sed 's,…,.,g' screen | awk 'length > 100' | wc -l)" -eq 0 ]
	diff - screen <<'END'
SIMULATED Rank 3 was not in all_reduce #1,204 of communicator 0x9e3f12ab: it died (SIGTERM), having
finished gemm_x 12.4 s before as its last kernel; its last call in that communicator was all_reduce
#1,203; ranks 0-2,4-7 waited in it

   RANK  GPU  QUEUE  #  FOR s  SINCE UTC   BEHIND  RANGE      DOING
      0    0      0  1   12.4  22:14:07.6       1  step 1204  SIGTERM in all_reduce #1,204, 4.2 MB,…
      1    1      0  1   12.4  22:14:07.6       1  step 1204  SIGTERM in all_reduce #1,204, 4.2 MB,…
      2    2      0  1   12.4  22:14:07.6       1  step 1204  SIGTERM in all_reduce #1,204, 4.2 MB,…
>     3    -      -  -   12.4  22:14:07.6       -  step 1204  SIGTERM; last gemm_x
      4    4      0  1   12.4  22:14:07.6       1  step 1204  SIGTERM in all_reduce #1,204, 4.2 MB,…
      5    5      0  1   12.4  22:14:07.6       1  step 1204  SIGTERM in all_reduce #1,204, 4.2 MB,…
      6    6      0  1   12.4  22:14:07.6       1  step 1204  SIGTERM in all_reduce #1,204, 4.2 MB,…
      7    7      0  1   12.4  22:14:07.6       1  step 1204  SIGTERM in all_reduce #1,204, 4.2 MB,…
END
	"$rtl" summary hung.db | grep -q '^SIMULATED reason: Ranks 0-2,4-7 hung in all_reduce #1,204 for 12.3 s; rank 3 was not in it: it died (SIGTERM), having finished gemm_x 12.4 s before'
	"$rtl" outstanding --csv hung.db >rows.csv
	[ "$(python3 -c 'import csv; print(sum(r["comm"] == str(0x9e3f12ab) for r in csv.DictReader(open("rows.csv"))))')" -eq 7 ]
}

@test "rtl outstanding of a file of an older rtl shows what the file has" {
	python3 "$here/fixture.py" hung "$here/../../collectord/db/schema" old.db
	sqlite3 old.db "DROP VIEW rtl_loss_interval; DROP TABLE rtl_loss_interval_base; DROP TABLE rtl_in_flight;
		ALTER TABLE rtl_process DROP COLUMN counted_ns; ALTER TABLE rtl_process DROP COLUMN end_ns;
		ALTER TABLE rtl_queue DROP COLUMN last_shape; ALTER TABLE rtl_queue DROP COLUMN last_seq;
		ALTER TABLE rtl_outstanding DROP COLUMN correlation_id; PRAGMA user_version = 8"
	run -0 "$rtl" outstanding --json old.db
	[ "$(jq -c '[.odd_ranks, (.waiting | length), .waiting[0].communication, .waiting[0].behind]' <<<"$output")" = '[[3],8,"allreduce",1]' ]
	"$rtl" outstanding old.db | one_line | grep -q 'Rank 3 was not in kernel ncclDevKernel_AllReduce_Sum_f32_RING_LL (its 1st allreduce): it died (SIGTERM)'
	for verb in summary info "info --json" "info --counters" diagnose; do
		run -0 "$rtl" $verb old.db
	done
}

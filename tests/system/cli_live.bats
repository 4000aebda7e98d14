#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# rtl stat, ls, ctl and the readers, while a job runs under a private collector.
bats_require_minimum_version 1.5.0
load lib.bash

# On until finish_job, however long the looking takes; that can only be once dispatches are seen.
start_job() { # start_job RANKS
	"$rtl" run -o job.db --device soft -- "$demo" --ranks "$1" --gpus 2 --dispatches 2000000 --rate 2000 \
		>job.out 2>job.err &
	job=$!
	pids+=("$job")
}

finish_job() {
	kill -USR1 "$job"
	wait "$job"
}

stat_has() { # a jq condition on one sample
	only_ours || return 1
	"$rtl" stat --json -n 1 2>/dev/null >sample.json || return 1
	jq -e "$1" sample.json >/dev/null
}

# Ranks that have no processor for a second have no rates in it, either.
samples_show_progress() { # three, in a file
	"$rtl" stat --json -n 3 -i 1 >samples
	jq -s -e '.[2].ranks | all(.kernels_per_s > 0 and .load_pct > 0 and .mean_ns > 0)' samples >/dev/null &&
		jq -s -e '[.[].ranks[0].dispatched] | .[0] < .[1] and .[1] < .[2]' samples >/dev/null
}

@test "stat shows ranks with growing counts and rates, and the job's own truth at the end" {
	start_job 2
	wait_until stat_has '.simulated and ([.ranks[] | select(.dispatched > 100)] | length == 2)'
	wait_until samples_show_progress
	[ "$(wc -l <samples)" -eq 3 ]
	while read -r line; do
		python3 -m json.tool <<<"$line" >/dev/null
	done <samples
	[ "$(jq -c '[.schema, .simulated, .collectors]' samples | sort -u)" = "[1,true,1]" ]
	[ "$(jq -c '[.ranks[].rank] | sort' samples | sort -u)" = "[0,1]" ]
	# Nothing is known of rates at first, then they are.
	[ "$(head -1 samples | jq -c '[.ranks[].kernels_per_s] | unique')" = "[null]" ]
	jq -s -e 'all(.[]; all(.ranks[]; .dispatched == .stored + .pending + .skipped + .dropped + .outstanding))' samples
	"$rtl" stat -b -n 2 -i 0.2 >table
	[ "$(grep -c '^SIMULATED  rtl-demo-' table)" -eq 2 ]
	[ "$(grep -c '^RANK  GPU' table)" -eq 2 ]
	if [ -w /dev/full ]; then
		run -1 bash -c '"$1" stat -b >/dev/full' bash "$rtl"
		[ "$output" = "rtl: cannot write to stdout: No space left on device" ]
	fi
	finish_job
	count=$(told job.out | awk -F'|' '{ n += $3 } END { print n }')
	[ "$count" -gt 200 ]
	grep -qx "SIMULATED complete: $count dispatched, $count stored" job.err
	[ "$("$rtl" summary job.db | head -1)" = "SIMULATED complete: $count dispatched, $count stored" ]
	[ "$("$rtl" summary --json job.db | jq -r '.ranks[] | "\(.rank)|\(.gpuId)|\(.stored)"' | sort)" = "$(told job.out)" ]
	"$rtl" info --json job.db | jq -e '.counters | length == 2 and all(.balanced)'
}

@test "a session is found by its name, read while it grows, and flushed" {
	start_job 2
	wait_until stat_has '.simulated and ([.ranks[] | select(.stored > 100)] | length == 2)'
	name=$(jq -r '.sessions[0].session' sample.json)
	# Found without being told where.
	ours=$RTL_SOCKET
	env -u RTL_SOCKET "$rtl" stat --json -n 1 | jq -e --arg s "$ours" '.sessions | any(.socket == $s)'
	[ "$("$rtl" ls --json | jq -r '.sessions[] | select(.session == "'"$name"'") | .state')" = live ]
	"$rtl" stat --json -n 1 "$name" | jq -e '.sessions | length == 1'
	for how in -b --json; do
		run -1 --separate-stderr "$rtl" stat $how -n 1 "$name-not"
		[ "$stderr" = "rtl: $name-not: no such session is open; see rtl ls" ]
		[ -z "$output" ]
	done
	"$rtl" ctl status | grep -q collectord
	"$rtl" ctl flush
	"$rtl" ctl flush "$name"
	# What a flush answered for is in the file.
	before=$("$rtl" stat --json -n 1 | jq '[.ranks[].stored] | add')
	"$rtl" ctl flush
	[ "$("$rtl" query --csv "$name" 'SELECT count(*) FROM rocpd_op' 2>/dev/null | tail -1)" -ge "$before" ]
	"$rtl" summary "$name" >summary
	[[ $(head -1 summary) =~ ^SIMULATED\ RUNNING:\ [0-9]+\ dispatched,\ [0-9]+\ stored\ so\ far$ ]]
	grep -q running summary
	"$rtl" ls --json | jq -e --arg name "$name" '.sessions[] | select(.session == $name) | .line | startswith("SIMULATED RUNNING: ")'
	run "$rtl" summary --strict "$name"
	[ "$status" -eq 3 ]
	finish_job
	"$rtl" summary --strict job.db
}

@test "stat on a terminal draws, takes keys and leaves" {
	start_job 1
	wait_until stat_has '(.ranks | length == 1) and .ranks[0].dispatched > 0'
	# -n 2 ends by itself; its screen is what a terminal got.
	TERM=xterm script -qec "$(printf 'exec %q stat -n 2 -i 0.3' "$rtl")" /dev/null </dev/null >screen
	grep -aq 'KERNELS/s' screen
	grep -aq 'SIMULATED' screen
	# What was asked for is still to be seen when the screen is gone.
	sed -n '/\x1b\[?1049l/,$p' screen | grep -aq '^RANK  GPU'
	# q ends it long before 1000 samples; an unknown terminal, or one without a cursor, gets the
	# batch form.
	(wait_until grep -aqs 'KERNELS/s' quit && printf q) | TERM=xterm timeout 300 \
		script -qfec "$(printf 'exec %q stat -n 1000 -i 1' "$rtl")" quit >/dev/null
	# So does ^C, and nothing is wrong then.
	(wait_until grep -aqs 'KERNELS/s' left && printf '\003') | TERM=xterm timeout 300 \
		script -qfec "$(printf 'exec %q stat -n 1000 -i 1' "$rtl")" left >/dev/null
	for term in nonsense-terminal dumb; do
		TERM=$term script -qec "$(printf 'exec %q stat -n 1' "$rtl")" /dev/null </dev/null >plain
		grep -aq '^RANK  GPU .*KERNELS/s' plain
		not grep -aq 'quit' plain
	done
	finish_job
}

@test "a job of a login is found from where there is none, as after su" {
	[ "$(id -u)" -eq 0 ] || skip "needs root to become another user"
	uid=$((100000 + RANDOM))
	as() { setpriv --reuid $uid --regid $uid --clear-groups env "$@"; }
	mkdir -p -m 755 /run/user
	mkdir -m 700 /run/user/$uid && chown $uid:$uid /run/user/$uid
	chmod 755 "$work" && mkdir -m 777 open && cd open
	# Not by as(): it would be a shell's child, and outlive it.
	setpriv --reuid $uid --regid $uid --clear-groups env XDG_RUNTIME_DIR=/run/user/$uid \
		"$rtl" run -q -o t.db sleep 300 3>&- &
	pids+=($!)
	found() { [ "$(as -u XDG_RUNTIME_DIR "$rtl" stat --json -n 1 | jq '.sessions | length')" = 1 ]; }
	listens_there() { [ -S "$(echo /run/user/$uid/rtl/*.sock)" ]; }
	local status=0
	wait_until listens_there
	found || status=1
	kill "${pids[0]}"
	wait "${pids[0]}" || true
	rm -rf /run/user/$uid
	[ "$status" -eq 0 ]
}

@test "no collector: one line and status 1" {
	for words in "stat -n 1" "stat -n 1 --json" "ctl status" "stat -n 1 --socket $work/none" "ls --socket $work/none"; do
		run --separate-stderr env RTL_SOCKET="$work/none.sock" "$rtl" $words
		[ "$status" -eq 1 ]
		[ -z "$output" ]
		[ "$(wc -l <<<"$stderr")" -eq 1 ]
	done
}

@test "the collector, rtl run and rtl summary say the same of a lossy job" {
	"$rtl" run -o shared.db --device soft -- "$demo" --ranks 1 --dispatches 4000 --signal-shared 4 >out 2>err
	line=$("$rtl" summary shared.db | head -1)
	[[ $line == "SIMULATED INCOMPLETE: 4000 dispatched, 4000 stored, 0 dropped, "*"shared "* ]]
	[ "$line" = "$(tail -1 err)" ]
	[ "$line" = "$(sql shared.db "SELECT value FROM rtl_meta WHERE key = 'completeness'")" ]
	# Signals of the application's own are accounted for, read or not.
	"$rtl" info --json shared.db | jq -e '.counters | all(.balanced)'
	"$rtl" info --counters shared.db | grep -q ' own, not read = .*: OK$'
	run "$rtl" summary --strict shared.db
	[ "$status" -eq 3 ]
}

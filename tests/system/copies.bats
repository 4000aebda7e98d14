#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Asynchronous copies of the HSA runtime: what was asked for, and when the device did it.
load lib.bash
bats_require_minimum_version 1.5.0

copies=$RTL_BUILD/tests/shim/copies/rtl-copies

# record MODE PROGRAM_MODE [N]: into t.db; what the program says is in out.
record() {
	SOFTGPU_COUNT=2 SOFTGPU_SCRIPT="" $rtl run -o t.db --mode "$1" --device soft -- "$copies" "${@:2}" >out
	accounted t.db
}

# compare [OPTION...]: the database, what the program said, and what the device did.
compare() {
	"$RTL_BUILD/bin/softgpu-truth" --copies "$work"/truth/* >copies.csv
	python3 "$here/compare_copies.py" "$@" t.db out copies.csv
}

counter() { # counter NAME
	sql t.db "SELECT coalesce(sum(value), 0) FROM rtl_counter WHERE name = '$1'"
}

@test "every kind of copy: direction, GPUs, bytes and the device's times" {
	record full each 40
	compare
	[ "$(counter copies_recorded)" -eq 320 ]
	[ "$(counter copies_timed)" -eq 320 ]
	[ "$(counter copies_untimed)" -eq 0 ]
	[ "$(sql t.db "SELECT group_concat(x, ' ') FROM (SELECT DISTINCT direction || '/' ||
		coalesce(source_gpuId, '-') || '/' || coalesce(target_gpuId, '-') || '/' || how AS x
		FROM rtl_copy ORDER BY 1)")" = "d2d/0/0/async d2d/0/0/rect d2h/0/-/async d2h/0/-/rect h2d/-/0/async h2d/-/0/rect p2p/0/1/async" ]
	# Copies within a GPU are kernels of the runtime's own, on queues that no tool sees: as long as those.
	[ "$(sql t.db "SELECT count(*) FROM rtl_copy WHERE how = 'async' AND direction = 'd2d' AND end_ns - start_ns = 2000")" -gt 0 ]
	[ "$(sql t.db 'SELECT count(*) FROM rtl_copy WHERE tid = 0 OR submit_ns = 0')" -eq 0 ]
}

@test "copies in modes without copy times have rows without times, and none are requested" {
	record standard each 10
	compare --untimed
	[ "$(counter copies_recorded)" -eq 80 ]
	[ "$(counter copies_timed)" -eq 0 ]
	[ "$(counter copies_untimed)" -eq 0 ]
}

@test "thousands of copies in flight, on signals used again at once, by four threads, are recorded" {
	record full flood 2000
	compare
	[ "$(counter copies_timed)" -eq 2000 ]
	rm t.db "$work"/truth/*
	# The program switches the runtime's timing off at its end, and reads the times itself.
	record full reuse 500
	compare
	[ "$(counter copies_timed)" -eq 500 ]
	rm t.db "$work"/truth/*
	record full threads 300
	compare --any-order
	[ "$(counter copies_timed)" -eq 1200 ]
}

@test "a signal that serves several copies, or a copy and a packet: no time rather than a wrong one" {
	record full shared
	compare
	[ "$(sql t.db 'SELECT group_concat(bytes) FROM rtl_copy WHERE start_ns IS NULL')" = 64,64,64 ]
	[ "$(counter copies_timed)" -eq 1 ]
	[ "$(counter copies_untimed)" -eq 3 ]
	rm t.db "$work"/truth/*
	record full packets 200
	[ "$(sql t.db 'SELECT count(*) FROM rtl_copy')" -eq 200 ]
	[ "$(sql t.db 'SELECT count(start_ns) FROM rtl_copy')" -eq "$(counter copies_timed)" ]
	[ $(($(counter copies_timed) + $(counter copies_untimed))) -eq 200 ]
	[ "$(counter copies_timed)" -eq 0 ] || compare
}

@test "a process that dies while a copy is under way leaves the copy, without times" {
	export SOFTGPU_COUNT=2 SOFTGPU_SCRIPT=""
	$rtl run -o t.db --mode full --device soft -- "$copies" hang >out &
	pids+=($!)
	wait_until grep -q hangs out
	local pid
	pid=$(basename "$work"/truth/*)
	# Until the first one's times are on their way, so that there is a difference to see.
	wait_until has_times
	kill -9 "$pid"
	wait "${pids[0]}" || true
	accounted t.db
	[ "$(sql t.db "SELECT group_concat(bytes || ' ' || (start_ns IS NOT NULL), ',') FROM rtl_copy")" = "64 1,65 0" ]
	[ "$(sql t.db 'SELECT ended FROM rtl_process')" = killed ]
}

has_times() {
	[ -e t.db ] && [ "$(sql t.db 'SELECT count(start_ns) FROM rtl_copy' 2>/dev/null)" = 1 ]
}

@test "summary and info show copies" {
	record full each 4
	run -0 "$rtl" summary t.db
	grep -q '^COPIES (SIMULATED)$' <<<"$output"
	grep -Eq '^h2d +12 ' <<<"$output"
	run -0 "$rtl" summary --csv=copies t.db
	[ "${lines[0]}" = "direction,calls,bytes,timed,total_ns,avg_ns,min_ns,max_ns,gb_per_s,simulated" ]
	[ "${#lines[@]}" -eq 5 ]
	run -0 "$rtl" info --json t.db
	python3 -c 'import json, sys
copies = json.load(sys.stdin)["copies"]
assert sum(c["calls"] for c in copies) == 32, copies
assert all(c["gb_per_s"] > 0 for c in copies), copies' <<<"$output"
	# Nothing of it without copies.
	$rtl run -o none.db --device soft -- "$demo" --ranks 1 --dispatches 10 >/dev/null
	run -0 "$rtl" summary none.db
	[ "$(sql none.db 'SELECT count(*) FROM rtl_copy')" -gt 0 ] || ! grep -q '^COPIES' <<<"$output"
}

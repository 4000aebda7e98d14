#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Programs that an earlier profiler changed (defects.tsv): they do with us what they do alone.
load ../lib.bash
bats_require_minimum_version 1.5.0
scenes=$RTL_BUILD/tests-bin/peer-scenes

# Mode hip preloads the shim, and a sanitized one does not survive that here.
hip=hip
[ -z "$sanitizer" ] || hip=

# scene NAME DISPATCHES: alone, then in every mode; the same output, all stored and timed.
scene() {
	local mode
	export SOFTGPU_COUNT=1
	env -u SOFTGPU_TRUTH LD_LIBRARY_PATH="$libdir/softgpu" "$scenes" "$1" >alone
	cat alone
	for mode in standard full $hip; do
		rm -f "$work"/truth/*
		RTL_EXIT_MS=60000 "$rtl" run -f -m $mode -o t.db --device soft -- "$scenes" "$1" >out 2>err
		cat err
		diff alone out
		accounted t.db
		[ "$(sql t.db 'SELECT sum(stored), sum(timed) FROM rtl_account')" = "$2|$2" ]
	done
	# The cheapest mode promises less of the record, nothing less to the program.
	RTL_EXIT_MS=60000 "$rtl" run -f -m lite -o t.db --device soft -- "$scenes" "$1" >out 2>err
	cat err
	diff alone out
	accounted t.db
	[ "$(sql t.db 'SELECT sum(dispatched), sum(stored) FROM rtl_account')" = "$2|$2" ]
}

@test "kernel A waits for B, which is submitted later on another queue" {
	scene circle 400
	grep -qx 'B before A 200 of 200' alone
}

@test "an application that waits on each of its own signals reads its own times" {
	scene own 200
	grep -Eqx 'own times [1-9][0-9]* to [1-9][0-9]* ticks' alone
}

@test "the driver's events are all left to the application" {
	scene events 201
	grep -Eqx 'signals with an event [1-9][0-9]{3}' alone
}

@test "a queue is created with the sizes that the application asked for" {
	scene scratch 1
}

@test "a program without HIP does not get it" {
	scene libraries 1
	grep -qx 'mappings of HIP 0' alone
}

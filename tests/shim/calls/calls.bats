#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Mode hip: every dispatch has the call that caused it, and every call its row.
load ../../system/lib.bash
bats_require_minimum_version 1.5.0

# HIP leaks at its end, which takes minutes to tell apart from ours, and unmaps the signal stacks
# that a sanitizer gives to its threads.
export ASAN_OPTIONS=detect_leaks=0:use_sigaltstack=0
calls=$RTL_BUILD/tests-bin/hip-calls
folder=$here/../shim/calls
scenes=$RTL_BUILD/tests-bin/hip-scenes

record() { # record PROGRAM...: leaves out, err and t.db
	export SOFTGPU_COUNT=1
	unset SOFTGPU_SCRIPT
	RTL_EXIT_MS=60000 "$rtl" run -m "${mode:-hip}" -o t.db --device soft -- "$@" >out 2>err || {
		cat out err
		return 1
	}
	cat err
	accounted t.db
	tail -n 1 err | grep -Eq '^SIMULATED complete: '
}

counter() {
	sql t.db "SELECT coalesce(sum(value), 0) FROM rtl_counter WHERE name = '$1'"
}

# linked: the row of each launch says what the program printed.
linked() {
	sed -n 's/^launch //p' out | sort >told
	sql t.db "SELECT c.api, o.gridX, o.tid FROM rocpd_op o
		JOIN rtl_host_call c ON c.id = o.api_id AND c.tid = o.tid AND c.process_id = o.process_id
		JOIN rtl_kernel k ON k.id = o.description_id WHERE k.symbol LIKE 'work%'" | sort >rows
	[ -s told ]
	diff told rows
	[ "$(counter unlinked)" -eq 0 ]
	[ "$(sql t.db "SELECT count(*) FROM rocpd_op WHERE correlation_id IS NULL")" -eq 0 ]
}

@test "threads and streams: each dispatch names the call that launched it" {
	record "$calls" 6 12
	linked
	# The grid that a launch was given is in its arguments.
	[ "$(sql t.db "SELECT count(*) FROM rocpd_op o JOIN rtl_host_call c ON c.id = o.api_id
		WHERE c.api = 'hipModuleLaunchKernel'
		AND o.gridX = c.arguments ->> 'gridX' * (c.arguments ->> 'blockX')")" -eq 72 ]
	[ "$(sql t.db "SELECT count(*) FROM rocpd_op o JOIN rtl_host_call c ON c.id = o.api_id
		WHERE c.api = 'hipExtModuleLaunchKernel' AND o.gridX = c.arguments ->> 'globalX'")" -eq 72 ]
	[ "$(sql t.db "SELECT count(DISTINCT stream) FROM rtl_host_call
		WHERE api = 'hipExtModuleLaunchKernel'")" -ge 1 ]
}

@test "dispatches of graph replays have their graph, the number of the launch and the node" {
	record "$scenes" graph 40 25
	[ "$(sql t.db "SELECT count(*) FROM rocpd_op WHERE graph_exec IS NOT NULL")" -eq 1000 ]
	[ "$(sql t.db "SELECT count(*) || '|' || min(graph_launch) || '|' || max(graph_launch)
		FROM rtl_host_call WHERE api = 'hipGraphLaunch'")" = '25|0|24' ]
	# Each launch has every node once, in the order of the chain.
	[ "$(sql t.db "SELECT count(*) FROM (SELECT graph_launch FROM rocpd_op
		WHERE graph_exec IS NOT NULL GROUP BY graph_exec, graph_launch
		HAVING count(DISTINCT graph_node) = 40 AND max(graph_node) = 39)")" -eq 25 ]
	[ "$(sql t.db "SELECT count(*) FROM rocpd_op a JOIN rocpd_op b ON b.api_id = a.api_id
		AND b.graph_node = a.graph_node + 1 WHERE b.sequenceId < a.sequenceId")" -eq 0 ]
	rm t.db truth/*
	record "$scenes" captured 30 20
	[ "$(sql t.db "SELECT count(*) FROM rocpd_op o JOIN rtl_host_call c ON c.id = o.api_id
		WHERE c.api = 'hipGraphLaunch' AND c.stream <> 0")" -eq 600 ]
	# A captured launch did not dispatch.
	[ "$(sql t.db "SELECT count(*) FROM rtl_host_call WHERE api = 'hipLaunchKernel'
		AND id NOT IN (SELECT api_id FROM rocpd_op)")" -eq 30 ]
}

@test "every call has a row, with what it was given and its result" {
	record "$calls" 1 1
	[ "$(counter calls_begun)" -eq "$(counter calls_recorded)" ]
	[ "$(counter dropped_calls)" -eq 0 ]
	[ "$(sql t.db "SELECT count(*) FROM rtl_host_call")" -eq "$(counter calls_recorded)" ]
	[ "$(sql t.db "SELECT result || arguments FROM rtl_host_call WHERE api = 'hipMalloc'
		AND result <> 0")" = '2{"address":"0x0","bytes":1152921504606846976}' ]
	[ "$(sql t.db "SELECT arguments ->> 'name' FROM rtl_host_call
		WHERE api = 'hipModuleGetFunction' ORDER BY id")" = $'work_a\nwork_b' ]
	[ "$(sql t.db "SELECT count(*) FROM rtl_host_call WHERE arguments IS NOT NULL AND NOT json_valid(arguments)")" -eq 0 ]
	[ "$(sql t.db "SELECT group_concat(n) FROM (SELECT count(*) AS n FROM rtl_host_call WHERE api IN
		('hipModuleLoad', 'hipSetDevice', 'hipEventElapsedTime', 'hipStreamCreate',
		'hipDeviceSynchronize', 'hipModuleUnload') GROUP BY api)")" = 1,1,1,1,1,1 ]
	[ "$(sql t.db "SELECT count(*) FROM rtl_host_call WHERE end_ns < start_ns")" -eq 0 ]
	[ "$(sql t.db "SELECT count(*) FROM rocpd_api")" -eq "$(counter calls_recorded)" ]
}

@test "two ranks with the same call numbers never mix" {
	record sh -c 'RTL_RANK=0 "$0" 2 4 & RTL_RANK=1 "$0" 2 4 & wait' "$calls"
	linked
	[ "$(sql t.db "SELECT count(DISTINCT process_id) FROM rtl_host_call")" -eq 2 ]
	[ "$(sql t.db "SELECT count(*) FROM (SELECT correlation_id FROM rtl_host_call
		GROUP BY 1 HAVING count(DISTINCT rank) = 2)")" -gt 30 ]
	[ "$(sql t.db "SELECT count(*) FROM rocpd_op o JOIN rtl_host_call c ON c.id = o.api_id
		WHERE c.rank <> o.rank OR c.process_id <> o.process_id")" -eq 0 ]
}

@test "a program that finds HIP by dlsym is linked too" {
	record python3 "$folder/ctypes_user.py" "$CALLS_CODE"
	# A sanitized librtl-calls.so does not wrap dlsym, so they are counted as unlinked.
	if [ -n "$sanitizer" ]; then
		[ "$(counter unlinked)" -eq 20 ]
		return
	fi
	sed -n 's/^launch //p' out | sort >told
	sql t.db "SELECT c.api, o.gridX FROM rocpd_op o JOIN rtl_host_call c ON c.id = o.api_id" |
		sort >rows
	diff told rows
	[ "$(counter unlinked)" -eq 0 ]
}

@test "dispatches without a recorded call are counted as unlinked and reported" {
	export SOFTGPU_COUNT=1
	unset SOFTGPU_SCRIPT
	# With the shim alone, RTL_MODE=hip cannot record calls.
	RTL_EXIT_MS=60000 "$rtl" run -o t.db --device soft -- \
		env RTL_MODE=hip "$calls" 1 2 >out 2>err
	cat err
	[ "$(grep -c 'RTL_MODE=hip without librtl-calls.so' err)" -eq 1 ]
	[ "$(counter unlinked)" -eq "$(sql t.db 'SELECT count(*) FROM rocpd_op')" ]
	[ "$(sql t.db 'SELECT count(*) FROM rtl_host_call')" -eq 0 ]
	"$rtl" summary t.db | grep -q "$(counter unlinked) dispatches not linked to a host call"
}

@test "other modes record no host call, and run the same" {
	mode=standard record "$calls" 2 3
	[ "$(sql t.db 'SELECT count(*) FROM rtl_host_call')" -eq 0 ]
	[ "$(sql t.db 'SELECT count(correlation_id) FROM rocpd_op')" -eq 0 ]
	[ "$(counter unlinked)" -eq 0 ]
	run -0 sh -c 'eval "$("$0" env -m lite)"; echo "$LD_PRELOAD"' "$rtl"
	[[ $output != *librtl-calls* ]]
	# The library is preloaded, but only passes calls on.
	RTL_MODE=off LD_PRELOAD="${sanitizer:+$sanitizer }$libdir/librtl-calls.so $libdir/librtl-shim.so" \
		LD_LIBRARY_PATH=$libdir/softgpu "$calls" 1 1 >off
	[ "$(grep -c ^launch off)" -eq 2 ]
}

@test "a program that looks for HIP where there is none finds none" {
	python3 "$folder/probe.py" >alone
	eval "$("$rtl" env -m hip)"
	python3 "$folder/probe.py" >with
	cat with
	grep -q 'hipMalloc missing' alone
	# A sanitized librtl-calls.so does not wrap dlsym, so its names are found.
	if [ -n "$sanitizer" ]; then
		grep -q 'hipMalloc found' with
		return
	fi
	diff alone with
}

@test "a program killed in the middle: its calls are read from the recorder" {
	export SOFTGPU_COUNT=1
	unset SOFTGPU_SCRIPT
	mkfifo go
	"$rtl" run -m hip -o t.db --device soft -- \
		sh -c '"$0" 2 1000000 & read -r _ <go; kill -9 $!; wait' "$calls" \
		>out 2>err &
	pids+=($!)
	wait_until test -e t.db
	wait_until sh -c '[ "$(sqlite3 -readonly -cmd ".timeout 10000" t.db \
		"SELECT count(*) FROM rtl_host_call" 2>/dev/null || echo 0)" -gt 200 ]'
	echo now >go
	wait "${pids[0]}"
	# Nothing that was submitted in a recorded call points to another one.
	[ "$(sql t.db "SELECT ended FROM rtl_process WHERE ended = 'killed'")" = killed ]
	begun=$(counter calls_begun)
	rows=$(sql t.db 'SELECT count(*) FROM rtl_host_call')
	# Two threads, each in at most one call.
	[ $((begun - rows)) -le 2 ]
	[ $((begun - rows)) -ge 0 ]
	[ "$(sql t.db "SELECT count(*) FROM rocpd_op o LEFT JOIN rtl_host_call c ON c.id = o.api_id
		WHERE c.id IS NULL")" -le $((3 * (begun - rows))) ]
}

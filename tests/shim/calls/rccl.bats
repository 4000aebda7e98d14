#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# RCCL's calls and their kernels, on a stand-in for librccl (fake_rccl.c): it has RCCL's ABI and
# launches kernels of its name, and moves nothing. Real RCCL was not run here.
load ../../system/lib.bash
bats_require_minimum_version 1.5.0

# HIP leaks at its end, which takes minutes to tell apart from ours, and unmaps the signal stacks
# that a sanitizer gives to its threads.
export ASAN_OPTIONS=detect_leaks=0:use_sigaltstack=0
folder=$RTL_BUILD/tests-bin
program=$folder/rccl-calls
ranks=4

record() { # record MODE: four ranks into one t.db
	export SOFTGPU_COUNT=1
	unset SOFTGPU_SCRIPT
	head -c 128 /dev/urandom >id
	RTL_EXIT_MS=60000 "$rtl" run -m "$1" -o t.db --device soft -- sh -c '
		for rank in 0 1 2 3; do
			RTL_RANK=$rank "$0" $rank 4 id >out.$rank &
		done
		wait' "$program" 2>err || {
		cat err
		return 1
	}
	cat err
	accounted t.db
	tail -n 1 err | grep -Eq '^SIMULATED complete: '
}

collectives() {
	cat out.? | sed -n 's/^collective \([0-9]*\) /\1|/p; s/^pair \([0-9]*\) /\1|/p' | sort >told
	sql t.db "SELECT rank, op, seq, count, bytes, datatype, reduction, peer, comm_rank, comm_size
		FROM rtl_collective" | sort >rows
	[ "$(wc -l <told)" -eq $((ranks * 18)) ]
	diff told rows
}

kernels() {
	# A single call has one kernel, whose grid is its count, and no other.
	[ "$(sql t.db "SELECT count(*) FROM rtl_collective k
		JOIN rtl_collective_kernel j ON j.collective_id = k.id JOIN rocpd_op o ON o.id = j.dispatch_id
		WHERE k.group_id IS NULL AND o.gridX = k.count AND o.rank = k.rank")" -eq $((ranks * 12)) ]
	# A group has one kernel for its three calls, whose grid is their sum.
	[ "$(sql t.db "SELECT count(*) FROM (SELECT sum(k.count) AS n, o.gridX FROM rtl_collective k
		JOIN rtl_collective_kernel j ON j.collective_id = k.id JOIN rocpd_op o ON o.id = j.dispatch_id
		WHERE k.group_id IS NOT NULL GROUP BY o.id HAVING count(*) = 3 AND n = o.gridX)")" -eq \
		$((ranks * 2)) ]
	# Every kernel of RCCL belongs to a collective.
	[ "$(sql t.db "SELECT count(*) FROM rocpd_op o JOIN rtl_kernel n ON n.id = o.description_id
		WHERE n.name LIKE 'nccl%' AND o.id NOT IN (SELECT dispatch_id FROM rtl_collective_kernel)")" -eq 0 ]
	[ "$(sql t.db "SELECT count(*) FROM rtl_collective_kernel")" -eq $((ranks * 18)) ]
}

identities() {
	# One identity for the four ranks, one for each half, one for the pair of each process.
	[ "$(sql t.db "SELECT group_concat(comm_size || 'x' || n, ' ') FROM (SELECT comm_size,
		count(DISTINCT rank) AS n FROM rtl_collective GROUP BY comm ORDER BY 1 DESC, 2 DESC)")" = \
		"4x4 2x2 2x2 2x1 2x1 2x1 2x1" ]
	# Matched across ranks by (communicator, number): the same operation everywhere.
	[ "$(sql t.db "SELECT count(*) FROM (SELECT comm, seq FROM rtl_collective
		WHERE op NOT IN ('ncclSend', 'ncclRecv') GROUP BY 1, 2
		HAVING count(DISTINCT op || count || datatype) > 1)")" -eq 0 ]
	# The k-th send to a rank is its k-th receive from there.
	[ "$(sql t.db "SELECT count(*) FROM rtl_collective s JOIN rtl_collective r ON r.comm = s.comm
		AND r.seq = s.seq AND r.op = 'ncclRecv' AND r.comm_rank = s.peer AND r.peer = s.comm_rank
		WHERE s.op = 'ncclSend' AND r.count = s.count + 1")" -eq $((ranks * 2)) ]
}

@test "standard mode: collectives of four ranks have their arguments, ranks, order and kernels" {
	record standard
	collectives
	identities
	kernels
	[ "$(sql t.db "SELECT count(*) FROM rtl_host_call WHERE api LIKE 'hip%'")" -eq 0 ]
}

# bats test_tags=apart
@test "mode hip: the same, with HIP's calls in between" {
	record hip
	collectives
	identities
	kernels
	[ "$(sql t.db "SELECT count(*) FROM rtl_host_call c JOIN rtl_host_call o
		ON o.process_id = c.process_id AND o.correlation_id = c.parent_id
		WHERE c.api = 'hipModuleLaunchKernel' AND o.api LIKE 'nccl%'")" -eq $((ranks * 14)) ]
	"$rtl" summary t.db | grep -q ncclAllReduce
}

@test "ranks that the user left out have no collectives, not even whole groups" {
	RTL_RANKS=2 record standard
	[ "$(sql t.db "SELECT group_concat(DISTINCT rank) FROM rtl_collective")" = 2 ]
	# The rank is unknown before the runtime is up.
	[ "$(sql t.db "SELECT group_concat(DISTINCT api) FROM rtl_host_call WHERE process_id IN
		(SELECT id FROM rtl_process WHERE rank <> 2)")" = ncclGetUniqueId ]
}

@test "an operation that RCCL refuses has a row with its arguments, and the others keep theirs" {
	export SOFTGPU_COUNT=1
	unset SOFTGPU_SCRIPT
	head -c 128 /dev/urandom >id
	RTL_EXIT_MS=60000 "$rtl" run -o t.db --device soft -- "$program" 0 4 id wrong >out 2>err
	cat err
	accounted t.db
	tail -n 1 err | grep -Eq '^SIMULATED complete: '
	[ "$(sql t.db "SELECT op, count, bytes, result FROM rtl_collective ORDER BY start_ns LIMIT 1")" = \
		"ncclAllReduce|9223372036854775807|9223372036854775807|4" ]
	[ "$(sql t.db 'SELECT count(*) FROM rtl_collective')" -eq 19 ]
}

@test "communicators of one group, one for each GPU of a node, are all known" {
	export SOFTGPU_COUNT=1
	unset SOFTGPU_SCRIPT
	head -c 128 /dev/urandom >id
	RTL_EXIT_MS=60000 "$rtl" run -o t.db --device soft -- "$program" 0 64 id all >out 2>err
	cat err
	accounted t.db
	[ "$(sql t.db "SELECT count(DISTINCT comm), count(comm), count(DISTINCT comm_rank), min(seq), max(seq)
		FROM rtl_collective")" = '1|64|64|0|0' ]
}

@test "communicators made while nothing is recorded are kept apart" {
	export SOFTGPU_COUNT=1
	unset SOFTGPU_SCRIPT
	head -c 128 /dev/urandom >id
	RTL_EXIT_MS=60000 "$rtl" run -o t.db --device soft -- "$program" 0 4 id paused >out 2>err
	cat err
	accounted t.db
	[ "$(sql t.db "SELECT count(DISTINCT comm), count(*), min(seq), max(seq) FROM rtl_collective")" = '2|2|0|0' ]
}

@test "the database says that this RCCL is a stand-in" {
	record lite
	[ "$(sql t.db "SELECT count(*) FROM rtl_marker WHERE text = 'librccl=stand-in'")" -eq $ranks ]
	[ "$(sql t.db "SELECT value FROM rtl_meta WHERE key = 'simulated'")" = 1 ]
}

@test "the program prints the same without rtl and in mode off" {
	head -c 128 /dev/urandom >id
	LD_LIBRARY_PATH=$libdir/softgpu "$program" 0 4 id >alone
	RTL_MODE=off LD_PRELOAD=$preload LD_LIBRARY_PATH=$libdir/softgpu "$program" 0 4 id >off
	diff alone off
}

@test "a plugin that is closed and opened again finds its RCCL" {
	local scope
	for scope in '' global; do
		[ "$("$folder/reload-calls" "$folder/libreload-user.so" $scope)" = twice ]
		[ "$(LD_PRELOAD=$preload "$folder/reload-calls" "$folder/libreload-user.so" $scope)" = twice ]
	done
}

# bats test_tags=apart
@test "mode hip: RCCL and roctx that ctypes finds by dlsym" {
	local mode user=("$(command -v python3)" "$here/../shim/calls/ctypes_rccl.py" "$folder/rccl/librccl.so.1"
		"$RTL_BUILD/tests/shim/libroctx64.so")
	export SOFTGPU_COUNT=1
	unset SOFTGPU_SCRIPT
	# Sanitized stand-ins need their runtime in a Python that is not.
	env ${sanitizer:+LD_PRELOAD=$sanitizer} LD_LIBRARY_PATH="$libdir/softgpu" "${user[@]}" \
		>alone 2>alone.err
	# A library that was not opened globally is not found in the global scope, with or without the shim.
	[ "$(cat alone.err)" = "roctx 20
not found ncclNoSuchFunction
not found ncclAllReduce
not found hipMalloc" ]
	for mode in hip standard; do
		RTL_EXIT_MS=60000 "$rtl" run -f -m $mode -o $mode.db --device soft -- "${user[@]}" >out 2>err
		diff alone out
		accounted $mode.db
	done
	# A sanitized librtl-calls.so does not wrap dlsym, so they are not recorded.
	if [ -n "$sanitizer" ]; then
		[ "$(sql hip.db 'SELECT count(*) FROM rtl_collective')" -eq 0 ]
		return
	fi
	RTL_EXIT_MS=60000 "$rtl" run -q -f -m hip -o hip.db --device soft -- "${user[@]}" >out 2>err
	diff alone.err err
	sql hip.db "SELECT seq, count, bytes, m.text FROM rtl_collective k
		JOIN rtl_collective_kernel j ON j.collective_id = k.id JOIN rocpd_op o ON o.id = j.dispatch_id
		JOIN rtl_marker m ON m.process_id = o.process_id AND m.roctxId = o.roctxId
		WHERE op = 'ncclAllReduce'" | sort -n >rows
	diff out rows
	[ "$(sql hip.db "SELECT group_concat(op || peer || '|' || count) FROM rtl_collective WHERE group_id IS NOT NULL")" = \
		"ncclSend0|7,ncclRecv0|7" ]
	# In other modes dlsym is not wrapped: only the kernels are recorded.
	[ "$(sql standard.db 'SELECT count(*) FROM rtl_collective')" -eq 0 ]
}

@test "children made without libc call HIP and RCCL as without rtl, and are not recorded" {
	local mode
	export SOFTGPU_COUNT=1
	unset SOFTGPU_SCRIPT
	LD_LIBRARY_PATH=$libdir/softgpu "$folder/children-calls" >alone
	[ "$(cat alone)" = "clone 0
clone 0
clone 0
fork 0" ]
	for mode in hip standard; do
		RTL_EXIT_MS=60000 "$rtl" run -f -m $mode -o $mode.db --device soft -- "$folder/children-calls" >out
		diff alone out
		accounted $mode.db
		[ "$(sql $mode.db 'SELECT count(*) FROM rtl_process')" -eq 1 ]
		[ "$(sql $mode.db "SELECT count(*) FROM rtl_host_call WHERE api = 'ncclGroupEnd'")" -eq 14 ]
		[ "$(sql $mode.db 'SELECT count(*) FROM rtl_loss')" -eq 0 ]
	done
	[ "$(sql hip.db "SELECT count(*) FROM rtl_host_call WHERE api = 'hipMemcpy'")" -eq 14 ]
}

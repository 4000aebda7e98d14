#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What is stored equals what the workload says and what the device did, dispatch by dispatch.
load lib.bash
bats_require_minimum_version 1.5.0

compare() { # compare DATABASE
	accounted "$1"
	local csv
	csv=$(truth_csv)
	# shellcheck disable=SC2086 # a list of files
	python3 "$here/compare_truth.py" "$1" $csv
}

@test "8 ranks: counts per rank and GPU, kernels, order and durations are the device's" {
	$rtl run -o t.db --device soft -- "$demo" --ranks 8 --steps 25 >out 2>err
	cat err
	[ "$(told out)" = "$(stored t.db)" ]
	[ "$(told out | wc -l)" -eq 8 ]
	compare t.db
	tail -n 1 err | grep -Eq '^SIMULATED complete: [0-9]+ dispatched, [0-9]+ stored$'
}

@test "with one GPU visible to each rank, gpuId is still the node's" {
	$rtl run -o t.db --device soft -- "$demo" --ranks 8 --steps 10 --one-gpu-each >out
	[ "$(told out)" = "$(stored t.db)" ]
	[ "$(sql t.db 'SELECT count(DISTINCT gpuId) FROM rocpd_op')" -eq 8 ]
	compare t.db
}

@test "ranks that share GPUs are told apart" {
	SOFTGPU_COUNT=2 $rtl run -o t.db --device soft -- "$demo" --ranks 5 --steps 10 >out
	[ "$(told out)" = "$(stored t.db)" ]
	compare t.db
}

@test "the two queries that users of the seed type" {
	$rtl run -o trace.db --device soft -- "$demo" --ranks 2 --steps 5 >out
	run -0 sqlite3 trace.db "SELECT gpuId, count(*) FROM rocpd_op GROUP BY gpuId;"
	[ "${#lines[@]}" -eq 2 ]
	[ "$output" = "$(told out | awk -F'|' '{print $2 "|" $3}')" ]
	run -0 sqlite3 trace.db "SELECT * FROM top LIMIT 10"
	[ "${#lines[@]}" -ge 5 ]
	grep -q 'ncclDevKernel' <<<"$output"
	run -0 sqlite3 trace.db "SELECT gpuId, busy_ns <= wall_ns, ops > 0 FROM busy"
	[ "$output" = $'0|1|1\n1|1|1' ]
}

@test "kernels carry the innermost roctx range of their thread" {
	$rtl run -o t.db --device soft -- "$demo" --ranks 2 --steps 5 >out
	[ "$(sql t.db "SELECT count(*) FROM rtl_marker WHERE text LIKE 'step %'")" -eq 10 ]
	[ "$(sql t.db 'SELECT count(*) FROM rtl_marker WHERE end_ns IS NULL OR end_ns < start_ns')" -eq 0 ]
	[ "$(sql t.db 'SELECT count(*) FROM rocpd_op o JOIN rtl_marker m USING (process_id, roctxId)
		WHERE o.submit_ns BETWEEN m.start_ns AND m.end_ns')" -gt 0 ]
	[ "$(sql t.db 'SELECT count(*) FROM rocpd_op WHERE roctxId IS NOT NULL AND NOT EXISTS
		(SELECT 1 FROM rtl_marker m WHERE m.roctxId = rocpd_op.roctxId AND m.process_id = rocpd_op.process_id)')" -eq 0 ]
}

@test "application signals are read, not replaced: complete and all fire" {
	$rtl run -o t.db --device soft -- "$demo" --ranks 2 --dispatches 5000 --signal-every 3 >out
	[ "$(told out)" = "$(stored t.db)" ]
	[ "$(sql t.db "SELECT sum(value) > 0 FROM rtl_counter WHERE name = 'own_signals_read'")" -eq 1 ]
	compare t.db
}

# bats test_tags=flood,apart
@test "as fast as they go, eight ranks on whatever processors there are: every dispatch is stored" {
	RTL_EXIT_MS=60000 $rtl run -o t.db --device soft -- "$demo" --ranks 8 --dispatches "${RTL_TEST_LONG:+1}25000" >out 2>err
	cat err
	accounted t.db
	[ "$(told out)" = "$(stored t.db)" ]
	[ -z "$(sql t.db 'SELECT * FROM rtl_loss')" ]
}

@test "paced at 20,000 a second and rank: nothing dropped" {
	$rtl run -o t.db --device soft --strict -- "$demo" --ranks 2 --dispatches "${RTL_TEST_LONG:+1}20000" --rate 20000 >out
	[ "$(told out)" = "$(stored t.db)" ]
	[ "$(sql t.db 'SELECT sum(dropped) FROM rtl_account')" -eq 0 ]
}

@test "a process that initialises HSA and dispatches nothing is listed with 0 and a reason" {
	$rtl run -o t.db --device soft -- "$demo" --ranks 2 --init-only
	[ "$(sql t.db 'SELECT count(*), sum(drained) FROM rtl_process')" = "2|2" ]
	run -0 "$rtl" summary t.db
	grep -Eqi 'dispatched nothing|no dispatch' <<<"$output"
}

@test "a process that returns from main at once, or sees no GPU, is listed with 0 and a reason" {
	# However loaded the machine is.
	export RTL_EXIT_MS=60000
	$rtl run -o t.db --device soft -- "$demo" --ranks 2 --init-only --no-shutdown
	[ "$(sql t.db 'SELECT count(*), sum(drained) FROM rtl_process')" = "2|2" ]
	run -1 env ROCR_VISIBLE_DEVICES=99 "$rtl" run -o none.db --device soft -- "$demo" --ranks 2
	[ "$(sql none.db 'SELECT count(*), sum(drained) FROM rtl_process')" = "2|2" ]
	run -0 "$rtl" summary none.db
	[ "$(grep -c 'dispatched nothing' <<<"$output")" -eq 2 ]
}

@test "a program without HSA starts no thread of ours and is not listed" {
	run -0 --separate-stderr "$rtl" run --private -o t.db -- cat /proc/self/status
	[ "$(sed -n 's/^Threads:[[:space:]]*//p' <<<"$output")" -eq 1 ]
	[ "$(sql t.db 'SELECT count(*) FROM rtl_process')" -eq 0 ]
}

# bats test_tags=apart
@test "an end that may take no time: the program ends as ever, the recorder is read" {
	export RTL_EXIT_MS=0
	for n in $(seq "${RTL_TEST_LONG:+2}5"); do
		run -0 --separate-stderr "$rtl" run -o "t$n.db" --device soft -- \
			"$demo" --ranks 2 --dispatches 3000
		[ "$(grep -c '^dispatched rank=. gpu=. kernels=3000$' <<<"$output")" -eq 2 ]
		accounted "t$n.db"
		[ "$(sql "t$n.db" 'SELECT sum(dispatched), sum(dropped) FROM rtl_account')" = "6000|0" ]
	done
}

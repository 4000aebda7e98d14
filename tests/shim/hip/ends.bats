#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What a program has seen to end is stored, however it dies, and the program is never reported as inside a
# kernel.
load hip.bash

# deaths DB: for each process, in order: stored, outstanding, dispatched; the difference is missing.
deaths() {
	sql "$1" "SELECT p.pid, (SELECT count(*) FROM rocpd_op o JOIN rtl_kernel k ON k.id = o.description_id
			WHERE o.process_id = p.id AND k.symbol LIKE '\_Z4seen%' ESCAPE '\\'),
		(SELECT count(*) FROM rtl_outstanding o WHERE o.process_id = p.id),
		(SELECT sum(dispatched - stored - outstanding) FROM rtl_account a WHERE a.process_id = p.id)
		FROM rtl_process p WHERE EXISTS (SELECT 1 FROM rtl_account a WHERE a.process_id = p.id)
		ORDER BY p.id" | tr '|' ' '
}

# Each takes only 2 us, so none that is left can be claimed to be on its GPU.
no_thread_is_in_a_kernel() {
	"$rtl" outstanding --json t.db >report 2>/dev/null
	[ "$(jq '[.waiting[] | select(.sequenceId != null and .kernel != null)] | length' report)" -eq 0 ]
	[ "$(jq '.outstanding' report)" -eq "$(jq '[.waiting[] | .unended] | add' report)" ]
	"$rtl" outstanding t.db | tr -s ' \n' ' ' >said
	not grep -q ' in kernel ' said
	[ "$(jq '.outstanding' report)" -eq 0 ] || grep -Eq '(dispatch|dispatches) not seen to end' said
}

@test "what HIP reported as ended is stored in each way of dying" {
	export SOFTGPU_SCRIPT=$tests_dir/softgpu.script SOFTGPU_COUNT=1
	# Each way of seeing an end and each way of dying at least twice; with RTL_TEST_LONG each with each.
	local seen how
	for seen in 0 1 2 3 4; do
		for how in 0 1 2 3 4 5 6; do
			[ -z "${RTL_TEST_LONG:-}" ] && [ $(((how + 2 * seen) % 5)) -gt 1 ] || echo "$seen $how"
		done
	done >ways
	# The last one checks once more for what was in progress.
	"$rtl" run -o t.db --device soft -- sh -c '
		while read -r seen how; do "$0" dies $seen $how </dev/null; done <"$1"; :' "$scenes" ways 2>err
	deaths t.db >found
	paste -d " " ways found | tee both
	[ "$(wc -l <found)" -eq "$(wc -l <ways)" ]
	# None is outstanding, missing or without times.
	awk '$4 != 40 || $5 != 0 || $6 != 0 { print "WRONG:", $0; bad = 1 } END { exit bad }' both
	[ "$(sql t.db 'SELECT count(*) FROM rocpd_op WHERE start IS NULL')" -eq 0 ]
	accounted t.db
}

@test "what was in progress when a program died is stored or outstanding" {
	export SOFTGPU_SCRIPT=$tests_dir/softgpu.script SOFTGPU_COUNT=1
	"$rtl" run -o t.db --device soft -- sh -c '
		for how in 0 1 2 3 4 5; do "$0" dies 5 $how; done; :' "$scenes" 2>err
	deaths t.db | tee found
	[ "$(wc -l <found)" -eq 6 ]
	awk '$2 + $3 != 40 || $4 != 0 { print "WRONG:", $0; bad = 1 } END { exit bad }' found
	no_thread_is_in_a_kernel
	accounted t.db
}

# A second process reads how many ends the program has seen, and then kills it. In a third of the runs the
# shim thread is stopped in the middle of a pass, holding its locks.
@test "a program that is killed at any moment leaves all that it saw end" {
	export SOFTGPU_SCRIPT=$tests_dir/softgpu.script SOFTGPU_COUNT=1 RTL_LIBDIR=$work/lib
	local runs=10
	[ -z "${RTL_TEST_LONG:-}" ] || runs=1000
	mkdir lib
	ln -s "$libdir/faults/librtl-shim.so" "$libdir/softgpu" lib
	"$rtl" run -o t.db --device soft -- "$RTL_BUILD/tests-bin/seen-killer" $runs "${RTL_TEST_SEED:-$RANDOM}" \
		"$scenes" >told 2>err
	[ "$(wc -l <told)" -eq $runs ]
	python3 "$tests_dir/check_seen.py" t.db told
	[ "$(sql t.db 'SELECT count(*) FROM rtl_process WHERE ended = '"'killed'")" -eq $runs ]
	accounted t.db
}

#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# A device that writes timestamps late, not at all, or the wrong way round: what is stored is right, or
# without a time and counted by reason; never wrong.
load lib.bash
bats_require_minimum_version 1.5.0

# faulty FAULT IS-LOST: one in a hundred dispatches of each kernel is spoilt; for good or not.
faulty() {
	local fault=$1 is_lost=$2 spoilt
	# The device holds its queue while times are late: the end may wait for the last of them.
	RTL_EXIT_MS=60000 SOFTGPU_FAULT="kernel *#*/100 fault=$fault" \
		$rtl run -o t.db --device soft -- "$demo" --ranks 2 --dispatches 3000 >out
	[ "$(told out)" = "$(stored t.db)" ]
	accounted t.db
	# shellcheck disable=SC2046 # a list of files
	python3 "$here/compare_truth.py" t.db $(truth_csv)
	spoilt=$(cat "$work"/*.truth.csv | grep -v softgpu_rocr_ | grep -c "$fault")
	[ "$spoilt" -ge 60 ]
	[ "$(sql t.db 'SELECT count(*) FROM rocpd_op WHERE start IS NULL')" -eq $((is_lost * spoilt)) ]
	[ "$(sql t.db "SELECT coalesce(sum(count), 0) FROM rtl_loss WHERE reason = 'untimed_timestamp_invalid'")" \
		-eq $((is_lost * spoilt)) ]
	# Nothing was dropped or judged missed because of it.
	[ "$(sql t.db "SELECT coalesce(sum(value), 0) FROM rtl_counter
		WHERE name IN ('missed', 'dropped_recorder_full', 'unresolved')")" -eq 0 ]
}

@test "times that come a millisecond after the signal's value are recorded" {
	faulty late_ts 0
}

@test "an end time that comes after the signal's value is recorded" {
	faulty value_first 0
}

@test "a signal without times leaves its dispatch without a time" {
	faulty zero_ts 1
}

@test "a signal whose end is before its start leaves its dispatch without a time" {
	faulty swapped_ts 1
}

# The program takes its signal back as soon as it falls, so times that come later belong to no dispatch.
@test "times of the program's own signals are right, or missing and counted" {
	for fault in late_ts value_first zero_ts swapped_ts; do
		rm -f "$work"/truth/* "$work"/*.csv t.db
		RTL_EXIT_MS=60000 SOFTGPU_FAULT="kernel *#*/100 fault=$fault" $rtl run -o t.db --device soft -- \
			"$demo" --ranks 2 --dispatches 3000 --signal-every 3 >out
		[ "$(told out)" = "$(stored t.db)" ]
		accounted t.db
		# shellcheck disable=SC2046 # a list of files
		python3 "$here/compare_truth.py" --untimed t.db $(truth_csv)
		[ "$(sql t.db 'SELECT count(*) FROM rocpd_op WHERE start IS NULL')" -eq \
			"$(sql t.db "SELECT coalesce(sum(count), 0) FROM rtl_loss WHERE reason LIKE 'untimed%'")" ]
	done
}

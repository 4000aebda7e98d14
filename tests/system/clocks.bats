#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Kernels are placed on the host's time line however the GPU's counter goes, and what does not fit
# is counted: rtl info --clocks.
load lib.bash
bats_require_minimum_version 1.5.0

job() { # job FAULT: 1.6 s of kernels, each of which begins when it is submitted
	run -0 env SOFTGPU_COUNT=1 SOFTGPU_REALTIME=1 SOFTGPU_FAULT="$1" \
		"$rtl" run -o t.db --device soft -- "$demo" --ranks 1 --dispatches 3200 --rate 2000
	accounted t.db
}

clock() { # clock FILTER: of the only process and GPU
	"$rtl" info --clocks --json t.db | jq ".clocks[0] | $1"
}

in_order() { # starts of a queue follow its numbers, none before its submission or after the job
	[ "$(sql t.db 'SELECT count(*) FROM (SELECT start, lag("end") OVER (PARTITION BY queueId
		ORDER BY sequenceId) AS before FROM rocpd_op) WHERE before > start')" = 0 ]
	[ "$(sql t.db 'SELECT count(*) FROM rocpd_op WHERE "end" > (SELECT end_ns FROM rtl_session)')" = 0 ]
	[ "$(sql t.db 'SELECT count(*) FROM rocpd_op WHERE start IS NOT NULL')" -ge 3190 ]
}

@test "a clock that keeps its rate" {
	job ''
	in_order
	[ "$(clock .tick_hz)" = 100000000 ]
	jq -e '(.drift_ppm | fabs) < 2 and .steps == 0 and .regressions == 0 and .refused == 0
		and .early == 0 and .anchors > 20 and .error_ns > 0 and .residual_ns <= .error_ns
		and .realtime_offset_ns > 1e18' <<<"$(clock .)"
	run -0 "$rtl" info --clocks t.db
	[[ "${lines[0]}" = "SIMULATED complete: "* ]]
	[[ "$output" == *"RESIDUAL us"*"ERROR us"*"STEPS"*"EARLY"* ]]
	run -0 "$rtl" info --clocks --csv t.db
	[ "${#lines[@]}" -eq 2 ]
	[[ "${lines[0]}" = process_id,rank,gpuId,anchors,*,early,early_max_ns ]]
	run -2 "$rtl" info --csv t.db
}

@test "a drifting clock: kernels are placed between the anchors, not along the nominal rate" {
	job 'clock drift=-400ppm'
	in_order
	jq -e '.drift_ppm < -380 and .drift_ppm > -420 and .steps == 0 and .early == 0' \
		<<<"$(clock .)"
	# By the nominal rate from the first anchor these would have begun before their submission.
	[ "$(sql t.db 'SELECT count(*) FROM rocpd_op WHERE (start - submit_ns) * 1000000 <
		400 * (start - (SELECT min(boottime_ns) FROM rtl_clock))')" -gt 0 ]
	[ "$(sql t.db "SELECT value FROM rtl_counter WHERE name = 'time_violations'")" = "" ]
}

@test "a counter that is set back while kernels run" {
	job 'clock step=-10s after=600ms'
	in_order
	jq -e '.regressions == 1 and .early == 0' <<<"$(clock .)"
	[ "$(sql t.db "SELECT value FROM rtl_counter WHERE name = 'clock_regressions'")" = 1 ]
}

@test "a counter that is set forward" {
	job 'clock step=20ms after=600ms'
	jq -e '.steps >= 1 and .regressions == 0' <<<"$(clock .)"
}

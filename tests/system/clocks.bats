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

@test "kernels of a clock that keeps its rate have exact times" {
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
	[[ "${lines[0]}" = process_id,rank,gpuId,anchors,*,early,early_max_ns,simulated ]]
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

@test "kernels that run while the counter is set back have no wrong times" {
	job 'clock step=-10s after=600ms'
	in_order
	jq -e '.regressions == 1 and .early == 0' <<<"$(clock .)"
	[ "$(sql t.db "SELECT value FROM rtl_counter WHERE name = 'clock_regressions'")" = 1 ]
}

@test "kernels around a counter that is set forward have no wrong times" {
	job 'clock step=20ms after=600ms'
	jq -e '.steps >= 1 and .regressions == 0' <<<"$(clock .)"
}

@test "ranks in time namespaces are on the time line of the machine" {
	local up=$(cut -d. -f1 /proc/uptime) offset
	export SOFTGPU_REALTIME=1 # a kernel takes its time
	for offset in 864000 $((60 - up)); do
		"$rtl" run -f -o t.db --device soft -- sh -c "RTL_RANK=0 '$demo' --steps 3
			RTL_RANK=1 unshare --time --boottime $offset --fork '$demo' --steps 3; RTL_RANK=2 '$demo' --steps 3" >out 2>err
		[[ "$(tail -n 1 err)" == "SIMULATED complete: "* ]]
		accounted t.db
		# One after the other, and all within the session.
		[ "$(sql t.db 'SELECT rank FROM rtl_process ORDER BY start_ns')" = $'0\n1\n2' ]
		[ "$(sql t.db 'SELECT rank FROM rocpd_op GROUP BY rank ORDER BY min(start)')" = $'0\n1\n2' ]
		[ "$(sql t.db 'SELECT count(*) FROM rocpd_op, rtl_session WHERE start < start_ns OR "end" > end_ns
			OR submit_ns < start_ns OR submit_ns > end_ns')" -eq 0 ]
		[ "$(sql t.db 'SELECT count(*) FROM rtl_marker m, rtl_session s WHERE m.start_ns < s.start_ns
			OR m.end_ns > s.end_ns')" -eq 0 ]
		# How it ended is known, which is asked for by when it was started.
		[ "$(sql t.db 'SELECT DISTINCT exit_status FROM rtl_process')" = 0 ]
	done
}

@test "a job in a time namespace is on the machine's time line" {
	SOFTGPU_REALTIME=1 unshare --time --boottime 864000 --fork "$rtl" run -o t.db --device soft -- "$demo" --ranks 2 --steps 3 >out 2>err
	[[ "$(tail -n 1 err)" == "SIMULATED complete: "* ]]
	accounted t.db
	[ "$(sql t.db 'SELECT count(*) FROM rocpd_op, rtl_session WHERE start < start_ns OR "end" > end_ns')" -eq 0 ]
	[ "$(sql t.db 'SELECT end_ns FROM rtl_session')" -lt "$(($(date +%s%N) - $(date -d "$(uptime -s)" +%s%N) + 10000000000))" ]
}

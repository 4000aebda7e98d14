#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# HIP programs: whoever launches, on whatever stream, thread or GPU.
load hip.bash

@test "12 streams share HIP's queues: every launch, in order, with its name" {
	scene streams 12 50
	launched
	exact
	# More streams than queues; and queues are what HIP made, not what streams it has.
	[ "$(sql t.db 'SELECT count(DISTINCT queueId) FROM rocpd_op')" -le 4 ]
	[ "$(sql t.db "SELECT count(*) FROM rocpd_op o JOIN rtl_kernel k ON k.id = description_id
		WHERE k.symbol = '_Z5scaleIfEvPT_S0_i.kd' AND workgroupX = 16 AND workgroupY = 16")" -eq 600 ]
}

@test "8 threads on streams of their own, per thread and in common" {
	scene threads 8 1000
	launched
	exact
}

@test "100,000 launches as fast as they go" {
	scene flood 100000
	complete_with_calls
}

@test "callbacks run as often as they do alone" {
	scene callbacks 50
	launched
	exact
}

@test "every GPU's launches are that GPU's" {
	gpus=4 scene devices 30
	launched
	exact
	run -0 sql t.db "SELECT gpuId, count(*) FROM rocpd_op JOIN rtl_kernel k ON k.id = description_id
		WHERE k.symbol = '_ZN5layer4normEPfi.kd' GROUP BY 1 ORDER BY 1"
	[ "$output" = $'0|30\n1|31\n2|32\n3|33' ]
}

@test "hipDeviceReset, and everything again" {
	scene reset 5
	launched
	exact
}

@test "cooperative launches: their queue is left plain, counted, and the verdict says so" {
	scene coop 20
	accounted t.db
	[ "$(sql t.db "SELECT sum(value) FROM rtl_counter WHERE name = 'queues_coop'")" -ge 1 ]
	# The plain ones are all there; of the others there is a count.
	[ "$(sql t.db "SELECT count(*) FROM rocpd_op JOIN rtl_kernel k ON k.id = description_id
		WHERE k.symbol = '_ZN5layer4normEPfi.kd'")" -eq 20 ]
	[ "$(sql t.db "SELECT count(*) FROM rocpd_op JOIN rtl_kernel k ON k.id = description_id
		WHERE k.symbol LIKE '%together%'")" -eq 0 ]
	tail -n 1 err | grep -q '^SIMULATED INCOMPLETE: 20 dispatched, 20 stored, .*, 1 cooperative queue not recorded$'
	run -0 "$rtl" summary t.db
	grep -q 'cooperative queue not recorded' <<<"$output"
}

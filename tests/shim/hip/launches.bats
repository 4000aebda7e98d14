#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# HIP programs that launch on several streams, threads and GPUs.
load hip.bash

@test "12 streams share HIP's queues: every launch, in order, with its name" {
	scene streams 12 50
	launched
	exact
	# More streams than queues: queues are those that HIP created, not its streams.
	[ "$(sql t.db 'SELECT count(DISTINCT queueId) FROM rocpd_op')" -le 4 ]
	[ "$(sql t.db "SELECT count(*) FROM rocpd_op o JOIN rtl_kernel k ON k.id = description_id
		WHERE k.symbol = '_Z5scaleIfEvPT_S0_i.kd' AND workgroupX = 16 AND workgroupY = 16")" -eq 600 ]
}

@test "8 threads on streams of their own, per thread and in common" {
	scene threads 8 1000
	launched
	exact
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

@test "launches after hipDeviceReset are recorded" {
	scene reset 5
	launched
	exact
}

@test "cooperative launches are recorded like others" {
	scene coop 20
	accounted t.db
	complete_with_calls
	[ -z "$(sql t.db "SELECT sum(value) FROM rtl_counter WHERE name = 'queues_coop' AND value > 0")" ]
	for kernel in %norm% %together%; do
		[ "$(sql t.db "SELECT count(*), count(start) FROM rocpd_op JOIN rtl_kernel k ON k.id = description_id
			WHERE k.symbol LIKE '$kernel'")" = "20|20" ]
	done
}

#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# HIP reports the same times with the shim: the program's signals are read, never replaced.
load hip.bash

@test "hipEventElapsedTime returns the same with and without rtl" {
	# All of its kernels: then the queue starts.
	export SOFTGPU_FAULT='queue 1 stall_until=45'
	scene elapsed 8
	launched
	exact
	# And these are the kernels' times: 40 us a piece.
	awk '$1 == "round" && sprintf("%.5f", $4) != sprintf("%.5f", 0.04 * ($2 + 1)) { exit 1 }' out
}

@test "events of hipExtModuleLaunchKernel and hipExtLaunchKernel are the kernel's own times" {
	export SOFTGPU_FAULT='queue 1 stall_until=160'
	scene extlaunch 40 0 "$module/first_module.co"
	launched
	exact
	awk '$1 == "launch" && (sprintf("%.5f", $4) != "0.01234" || sprintf("%.5f", $5) != "0.04000") { exit 1 }' out
	[ "$(sql t.db "SELECT min(end - start) || ' ' || max(end - start) FROM rocpd_op
		JOIN rtl_kernel k ON k.id = description_id WHERE k.symbol = 'first_module.kd'")" = '12340 12340' ]
}

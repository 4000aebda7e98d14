#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Fills, copies and modules: HIP's own kernels are recorded, and the bytes are right.
load hip.bash

@test "fills and copies are byte exact, and HIP's kernels for them are recorded" {
	scene memory
	launched
	exact
	[ "$(sql t.db "SELECT count(*) FROM rocpd_op JOIN rtl_kernel k ON k.id = description_id
		WHERE k.symbol LIKE '\_\_amd\_rocclr\_fillBuffer%' ESCAPE '\\'")" -ge 3 ]
}

@test "mode all: copies have the device's times and the HIP call that asked for them, which full and hip alone have not" {
	local mode
	for mode in full hip all; do
		rm -rf t.db truth/* ./*.truth.csv
		rtl_options="-m $mode" scene memory
		launched
		exact
		sql t.db "SELECT count(start_ns) = count(*), count(*) > 0 FROM rtl_copy" >>timed
		sql t.db "SELECT count(*) > 0 FROM rtl_copy c JOIN rtl_host_call h USING (process_id, correlation_id)
			WHERE h.api LIKE 'hipMemcpy%'" >>called
	done
	[ "$(echo $(cat timed))" = "1|1 0|1 1|1" ]
	[ "$(echo $(cat called))" = "0 1 1" ]
}

@test "the launches of copies between two GPUs are recorded exactly" {
	gpus=2 scene peers 5
	launched
	exact
}

@test "300 modules loaded and unloaded: each launch under its own module's name" {
	scene modules 300 0 "$module/first_module.co" "$module/second_module.co"
	launched
	exact
	run -0 sql t.db "SELECT symbol, count(*) FROM rocpd_op JOIN rtl_kernel k ON k.id = description_id
		WHERE symbol LIKE '%module.kd' GROUP BY 1 ORDER BY 1"
	[ "$output" = $'first_module.kd|450\nsecond_module.kd|450' ]
}

@test "4 KiB of arguments, dynamic LDS, scratch: the columns are right" {
	scene shapes 60
	launched
	exact
	[ "$(sql t.db "SELECT min(scratch) = $(sed -n 's/^scratch //p' out) AND min(scratch) = max(scratch)
		FROM rtl_shape JOIN rtl_kernel k ON k.id = kernel_id WHERE symbol LIKE '%private_memory%'")" -eq 1 ]
	[ "$(sql t.db "SELECT group_concat(lds, ' ') FROM (SELECT DISTINCT lds FROM rtl_shape
		JOIN rtl_kernel k ON k.id = kernel_id WHERE symbol LIKE '%local_memory%' ORDER BY 1)")" = \
		"$(seq -s ' ' 1024 1024 61440)" ]
	[ "$(sql t.db "SELECT count(*) FROM rocpd_op JOIN rtl_kernel k ON k.id = description_id
		WHERE symbol LIKE '%big_arguments%' AND workgroupX = 8 AND workgroupY = 4 AND workgroupZ = 2
		AND gridY = 8 AND gridZ = 6 AND gridX % 8 = 0 AND gridX BETWEEN 8 AND 56")" -eq 60 ]
}

#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Every row carries the name of the kernel that the device ran, whatever code comes and goes.
load lib.bash
bats_require_minimum_version 1.5.0

names=$RTL_BUILD/tests/shim/names/rtl-names
code=$RTL_BUILD/tests/shim/names


prepare() { # prepare SCRIPT_LINE...: what the device does
	export SOFTGPU_COUNT=2 SOFTGPU_SCRIPT=$work/script
	printf '%s\n' "$@" >"$work/script"
}

compare() { # compare DATABASE
	accounted "$1"
	# shellcheck disable=SC2046 # a list of files
	python3 "$here/compare_truth.py" "$1" $(truth_csv)
	[ "$(sql "$1" "SELECT coalesce(sum(value), 0) FROM rtl_counter WHERE name = 'symbols_unknown'")" -eq 0 ]
}

@test "code objects at one address, half of them unloaded while their last kernel runs" {
	local objects=250
	[ -z "${RTL_TEST_LONG:-}" ] || objects=1000
	prepare "default duration=1ms"
	SOFTGPU_REALTIME=1 $rtl run --strict -o t.db --device soft -- "$names" cycles "$code/cycle.co" "$objects" >out
	# Or the test would test nothing.
	grep -qx 'addresses 1' out
	grep -qx "dispatched $((3 * objects))" out
	compare t.db
	[ "$(sql t.db 'SELECT count(*), count(DISTINCT symbol) FROM rtl_kernel')" = "$objects|$objects" ]
	[ "$(sql t.db 'SELECT count(*) FROM (SELECT 1 FROM rocpd_op GROUP BY description_id HAVING count(*) <> 3)')" -eq 0 ]
}

@test "four threads load and unload while others dispatch" {
	local cycles=60
	[ -z "${RTL_TEST_LONG:-}" ] || cycles=250
	prepare "default duration=20us"
	$rtl run --strict -o t.db --device soft -- "$names" threads "$code/cycle.co" 4 "$cycles" >out
	compare t.db
	[ "$(sql t.db 'SELECT count(*) FROM rtl_kernel')" -eq $((4 * cycles + 1)) ]
	# Each thread's kernels are on its own queue only, in the order of its cycles.
	[ "$(sql t.db "SELECT count(DISTINCT queueId || substr(k.symbol, 1, 3)), count(DISTINCT queueId)
		FROM rocpd_op o JOIN rtl_kernel k ON k.id = o.description_id")" = "5|5" ]
}

# name SYMBOL: the demangled name of the one kernel with this symbol.
name() {
	sql t.db "SELECT name FROM rtl_kernel WHERE symbol = '$1.kd'"
}

@test "long, mangled, foreign and hostile names; the same kernels on two GPUs are one row each" {
	prepare "default duration=5us"
	$rtl run --strict -o t.db --device soft -- "$names" each "$code/many.co" >out
	accounted t.db
	# As many objects as there are kernels and GPUs, and one row a kernel.
	grep -qx 'addresses 26' out
	[ "$(sql t.db 'SELECT count(*), count(DISTINCT gpuId), count(DISTINCT description_id) FROM rocpd_op')" = "26|2|13" ]
	[ "$(sql t.db 'SELECT count(*) FROM rtl_kernel')" -eq 13 ]
	[ "$(name _Z8gemm_tnnIDF16_EvPT_i)" = "void gemm_tnn<_Float16>(_Float16*, int)" ]
	[ "$(name _Z4castIDF16bEvPT_)" = "void cast<std::bfloat16_t>(std::bfloat16_t*)" ]
	[[ "$(sql t.db "SELECT name FROM rtl_kernel WHERE symbol LIKE '%vectorized_elementwise%'")" == \
		"void at::native::vectorized_elementwise_kernel<4, "*"{lambda(float)#1}, "*">(int, "* ]]
	for same in Cijk_Ailk_Bljk_HHS_BH_MT128x128x16_MI32x32x8x1_SN_1LDSB0_APM1_AF0EM1 \
		triton_poi_fused_add_mul_0d1d2d3de _RNvCskwGfYPst2Cb_3gpu6matmul _ZN3brokenILi dot.kd.kd; do
		[ "$(name "$same")" = "$same" ]
	done
	# Whole over 4 KiB, and cut at SYMBOL_BYTES_MAX.
	[ "$(sql t.db "SELECT length(symbol), name = replace(hex(zeroblob(2500)), '0', 'f') || '()'
		FROM rtl_kernel WHERE symbol GLOB '_Z5000*'")" = "5010|1" ]
	[ "$(sql t.db "SELECT length(symbol), length(name) FROM rtl_kernel WHERE symbol GLOB 'longyyy*'")" = "16384|16384" ]
	# Nothing in a name does anything.
	[ "$(sql t.db "SELECT count(*) FROM rtl_kernel WHERE symbol GLOB 'x'')*DROP TABLE*' AND
		instr(symbol, char(27, 91)) > 0 AND instr(symbol, char(10)) > 0")" -eq 1 ]
	[ "$(sql t.db "SELECT name = 'bytes' || char(0xfffd, 0xfffd, 0xfffd) || 'end' FROM rtl_kernel
		WHERE symbol GLOB 'bytes*'")" -eq 1 ]
	for show in "summary" "summary --json" "summary --csv" "info" "info --counters"; do
		# shellcheck disable=SC2086 # options
		run -0 "$rtl" $show t.db
		[[ "$output" != *$'\e'* ]]
	done
	run -0 "$rtl" summary --json --top 0 t.db
	python3 -c 'import json, sys; d = json.load(sys.stdin); assert len(d["kernels"]) == 13, d' <<<"$output"
}

@test "a code object of version 2, whose symbols have no .kd" {
	prepare "default duration=5us"
	SOFTGPU_GFX=gfx900 $rtl run --strict -o t.db --device soft -- "$names" each "$code/v2.co" >out
	grep -qx 'dispatched 2' out
	[ "$(sql t.db 'SELECT k.symbol, k.name, count(*) FROM rocpd_op o JOIN rtl_kernel k
		ON k.id = o.description_id GROUP BY k.id')" = "cycle_0000000000|cycle_0000000000|2" ]
}

# bats test_tags=apart
@test "more names than the log of names holds: said and counted, no dispatch lost" {
	prepare "default duration=5us"
	run -3 "$rtl" run --strict -o t.db --device soft -- "$names" cycles "$code/overflow.co" 400
	accounted t.db
	[ "$(sql t.db 'SELECT count(*) FROM rocpd_op')" -eq 1200 ]
	local overflowed
	overflowed=$(sql t.db "SELECT value FROM rtl_counter WHERE name = 'names_overflowed'")
	[ "$overflowed" -gt 0 ]
	[[ "$output" == *"INCOMPLETE: 1200 dispatched, 1200 stored, "*", $overflowed names not kept"* ]]
	[ "$(sql t.db "SELECT count(*) FROM rocpd_op o JOIN rtl_kernel k ON k.id = o.description_id
		WHERE k.name = '<name-overflow>'")" -eq $((overflowed * 3)) ]
	# The others are right: dispatch n is of cycle n / 3.
	[ "$(sql t.db "SELECT count(*) FROM rocpd_op o JOIN rtl_kernel k ON k.id = o.description_id
		WHERE k.name <> '<name-overflow>' AND
		substr(k.name, 1, 16) <> printf('t00_%012d', o.sequenceId / 3)")" -eq 0 ]
}

@test "a program that becomes another one, both on the GPU: two processes of one pid" {
	prepare "default duration=5us"
	# What ended just before exec may have no times.
	$rtl run -o t.db --device soft -- "$names" then "$code/cycle.co" "$names" each "$code/many.co" >out
	accounted t.db
	[ "$(sql t.db 'SELECT count(*), count(DISTINCT pid), count(DISTINCT start_time) FROM rtl_process')" = "2|1|1" ]
	[ "$(sql t.db "SELECT group_concat(x, ' ') FROM (SELECT p.ended || ':' || count(o.id) || ':' ||
		count(DISTINCT o.description_id) AS x FROM rtl_process p LEFT JOIN rocpd_op o ON o.process_id = p.id
		GROUP BY p.id ORDER BY p.id)")" = "exec:2:1 exited:26:13" ]
}

@test "a pid that serves two programs one after the other: two processes" {
	prepare "default duration=5us"
	# A namespace of pids is where one can choose the next.
	cat >twice.sh <<-'EOF'
		mount -t proc proc /proc
		for co in "$2" "$3"; do
			echo 500 >/proc/sys/kernel/ns_last_pid
			"$1" each "$co"
		done
	EOF
	unshare --user --map-root-user --pid --mount --fork --kill-child \
		"$rtl" run --private --strict -o t.db --device soft -- sh twice.sh "$names" "$code/cycle.co" "$code/many.co" >out
	accounted t.db
	[ "$(sql t.db 'SELECT count(*), count(DISTINCT pid), max(pid) FROM rtl_process')" = "2|1|501" ]
	[ "$(sql t.db "SELECT group_concat(x, ' ') FROM (SELECT p.ended || ':' || count(o.id) AS x
		FROM rtl_process p LEFT JOIN rocpd_op o ON o.process_id = p.id GROUP BY p.id ORDER BY p.id)")" = "exited:2 exited:26" ]
}

#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What was asked for and does not come by the shim's wrappers is said: ranges, collectives and HIP calls of
# processes in which another LD_PRELOAD, or another library, is in the way.
bats_require_minimum_version 1.5.0
load lib.bash

other=/usr/lib/x86_64-linux-gnu/libstdc++.so.6
# A sanitizer has to stay in front; what is tested is the rest of the list.
first=${sanitizer:+$sanitizer:}

# record MODE SCRIPT: a shell that sets what it likes, and then becomes two ranks.
record() {
	"$rtl" run -f -m "$1" -o t.db --device soft -- sh -c "$2; exec '$demo' --ranks 2 --steps 3" >out 2>err
}

losses() {
	sql t.db "SELECT reason, count(*), sum(count) FROM rtl_loss GROUP BY reason ORDER BY reason"
}

# Every kernel is there all the same.
all_kernels() {
	[ "$(told out)" = "$(stored t.db)" ]
	accounted t.db
}

@test "a script whose LD_PRELOAD leaves the shim out: its ranges and RCCL calls are said to be missing" {
	local set
	for set in "export LD_PRELOAD=$first$other" "${sanitizer:+export LD_PRELOAD=$sanitizer; : }unset LD_PRELOAD" \
		"export LD_PRELOAD=$first"; do
		record standard "$set"
		all_kernels
		[ "$(sql t.db 'SELECT count(*) FROM rtl_marker')" -eq 0 ]
		[ "$(losses)" = $'unwrapped_rccl|2|2\nunwrapped_roctx|2|2' ]
		[[ "$(tail -n 1 err)" == "SIMULATED INCOMPLETE: "*", roctx ranges of 2 processes not recorded, RCCL calls of 2 processes not recorded" ]]
		grep -q '^rtl: a process has no librtl-shim.so in LD_PRELOAD' err
		run -3 --separate-stderr "$rtl" summary --strict t.db
		[ "${lines[0]}" = "$(tail -n 1 err)" ]
	done
	run -3 "$rtl" run --strict -q -f -o t.db --device soft -- env LD_PRELOAD=$first$other "$demo" --steps 2
}

@test "a script that adds to LD_PRELOAD, before or behind: nothing is missing" {
	local list
	for list in "$first$other:\$LD_PRELOAD" "\$LD_PRELOAD:$other"; do
		record standard "export LD_PRELOAD=$list"
		all_kernels
		[ "$(sql t.db 'SELECT count(*) FROM rtl_marker')" -gt 0 ]
		[ -z "$(losses)" ]
		[[ "$(tail -n 1 err)" == "SIMULATED complete: "* ]]
	done
}

@test "another library of roctx before the shim takes its calls, which is said" {
	ROCTX_LOG=/dev/null record standard "export LD_PRELOAD=$first$RTL_BUILD/tests/workload/libroctx_log.so:\$LD_PRELOAD"
	[ "$(sql t.db 'SELECT count(*) FROM rtl_marker')" -eq 0 ]
	[ "$(losses)" = 'unwrapped_roctx|2|2' ]
}

@test "the shim as a tool alone: complete, unless a library that it should wrap is there" {
	local preload
	for preload in "" "$RTL_BUILD/tests/shim/libroctx64.so"; do
		"$rtl" run -f -o t.db --device soft -- sh -c "unset RTL_PRELOAD; export LD_PRELOAD=$first$preload
			exec '$demo' --steps 2" >out 2>err
		all_kernels
		[ "$(losses)" = "${preload:+unwrapped_roctx|1|1}" ]
	done
}

@test "mode hip without the library of HIP's calls in the process: that is said" {
	record hip "export LD_PRELOAD=$first$libdir/librtl-shim.so"
	all_kernels
	[ "$(losses)" = 'unwrapped_hip|2|2' ]
	[[ "$(tail -n 1 err)" == "SIMULATED INCOMPLETE: "*", HIP calls of 2 processes not recorded" ]]
}

@test "mode hip where librtl-calls.so is not installed: said before anything starts" {
	mkdir -p i/bin i/lib
	cp "$rtl" "$collectord" i/bin
	cp -r "$libdir/librtl-shim.so" "$libdir/softgpu" i/lib
	local how
	for how in "i/bin/rtl run -m hip" "env RTL_MODE=hip i/bin/rtl run" "i/bin/rtl run -m full"; do
		# shellcheck disable=SC2086 # a command and its arguments
		run -125 --separate-stderr $how -o h.db --device soft -- touch started
		[[ $stderr == "rtl: $work/i/lib/librtl-calls.so: No such file or directory; modes hip and full need it: "* ]]
		[ ${#stderr_lines[@]} -eq 1 ]
		[ ! -e started ]
		[ ! -e h.db ]
	done
	run -1 --separate-stderr i/bin/rtl env -m hip
	[[ $stderr == "rtl: "*"; modes hip and full need it: "* ]]
	run env RTL_MODE=hip i/bin/rtl doctor --device soft
	[[ $output == *"FAIL shim: $work/i/lib/librtl-calls.so: No such file"* ]]
	# Other modes do without it.
	run -0 i/bin/rtl run -q -m standard -o h.db --device soft -- true
}

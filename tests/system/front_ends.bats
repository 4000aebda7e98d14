#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# How queues are followed and what is recorded of them: RTL_FRONT_END and RTL_MODE.
load lib.bash
bats_require_minimum_version 1.5.0

setup_file() {
	unset RTL_FRONT_END
}

front_ends() { # front_ends DATABASE: those of its processes
	sql "$1" 'SELECT DISTINCT front_end FROM rtl_process ORDER BY 1'
}

process_counter() { # process_counter DATABASE NAME
	sql "$1" "SELECT coalesce(sum(value), 0) FROM rtl_counter WHERE name = '$2'"
}

last_line() { tail -n 1 "$1"; }

@test "by default queues are shadowed on this runtime, without a word" {
	$rtl run -o t.db --device soft -- "$demo" --ranks 1 --steps 3 >out 2>err
	[ "$(front_ends t.db)" = shadow ]
	[ "$(process_counter t.db queues_intercepted)" -eq 0 ]
	not grep -q '^rtl: .*front' err
}

@test "the intercept queue gives the same rows" {
	RTL_FRONT_END=intercept-unsafe $rtl run -o t.db --device soft -- "$demo" --ranks 2 --steps 10 >out 2>err
	[ "$(front_ends t.db)" = intercept ]
	[ "$(told out)" = "$(stored t.db)" ]
	[ "$(process_counter t.db queues_intercepted)" -eq "$(process_counter t.db queues_created)" ]
	[ "$(process_counter t.db own_signals_seen)" -eq 0 ] # ours is never taken for the program's
	accounted t.db
	# shellcheck disable=SC2046 # a list of files
	python3 "$here/compare_truth.py" t.db $(truth_csv)
	last_line err | grep -Eq '^SIMULATED complete: [0-9]+ dispatched, [0-9]+ stored$'
}

@test "where the runtime aborts flooded programs, intercept is refused with one line and a reason" {
	RTL_FRONT_END=intercept $rtl run -o t.db --device soft -- "$demo" --ranks 1 --steps 3 >out 2>err
	[ "$(grep -c 'no kernels are recorded: ROCm 5 aborts programs' err)" -eq 1 ]
	grep -q '^none: ROCm 5 aborts' <<<"$(front_ends t.db)"
	grep -q 'INCOMPLETE: 0 dispatched.* 2 queues not followed' <<<"$(last_line err)"
	RTL_FRONT_END=intercept run -3 "$rtl" run --strict -o s.db --device soft -- "$demo" --ranks 1 --steps 3
}

@test "the first line of a job that asks for intercept queues names a runtime that is known to fail with them, once" {
	local wish
	for wish in intercept intercept-unsafe; do
		RTL_FRONT_END=$wish $rtl run -f -o t.db --device soft -- "$demo" --ranks 3 --steps 2 >out 2>err
		head -n 1 err | grep -Eq '^rtl: ROCm 5.*libhsa-runtime64.*: a flooded intercept queue aborts the program'
		[ "$(grep -c 'a flooded intercept queue' err)" -eq 1 ]
	done
	RTL_FRONT_END=intercept $rtl doctor --device soft -- "$demo" >doctor || true
	grep -q 'known: .*a flooded intercept queue' doctor
	# Where no queue would be intercepted, the fault is none of this job's.
	$rtl run -f -o t.db --device soft -- "$demo" --ranks 3 --steps 2 >out 2>err
	not grep -q 'flooded intercept queue' err
}

@test "RTL_FRONT_END=none is silent, listed and never complete" {
	RTL_FRONT_END=none $rtl run -o t.db --device soft -- "$demo" --ranks 1 --steps 3 >out 2>err
	not grep -q 'no kernels are recorded' err
	[ "$(front_ends t.db)" = "none: RTL_FRONT_END=none" ]
	[ "$(process_counter t.db signals_created)" -eq 0 ]
	grep -q 'INCOMPLETE' <<<"$(last_line err)"
	run -0 "$rtl" summary t.db
	[[ $output == *"not followed"* ]]
}

# sdk OPTIONS...: a program behind a stand-in for rocprofiler-sdk, started by what takes LD_PRELOAD away.
sdk() {
	local folder=$RTL_BUILD/tests/shim/register
	"$rtl" run --device soft "$@" -- env -u LD_PRELOAD OTHER_TOOL=intercepts OTHER_TOOL_LOG="$work/sdk.log" \
		SDK_TOOL="$RTL_BUILD/tests/shim/libshim-other-tool.so" "$folder/shim-register" local before 40 \
		"$RTL_BUILD/tests/shim/guest/libguest-work.so" "$folder/libshim-later-runtime.so" "$folder/libshim-sdk.so"
}

@test "queues of a tool that came first are INCOMPLETE in the file and everywhere, with the reason and what to do" {
	sdk -o t.db >out 2>err
	grep -q '^dispatched 40$' out
	last_line err | grep -q '^SIMULATED INCOMPLETE: 0 dispatched, 0 stored, .*, 1 queue not followed, '
	grep -q '^rtl: 1 queue of 1 process not followed, .*libshim-other-tool.so: .*not in LD_PRELOAD; with it, as rtl run has it, they are' err
	not grep -q 'no kernel was seen' err
	[ "$(sql t.db "SELECT count FROM rtl_loss WHERE reason = 'queues_ineligible'")" -eq 1 ]
	run -0 "$rtl" summary t.db
	[[ ${lines[0]} == *"INCOMPLETE"*"1 queue not followed"* ]]
	run -0 "$rtl" summary --json t.db
	grep -q '"queues_not_followed": 1' <<<"$output"
	run -3 "$rtl" summary --strict t.db
	run -3 sdk --strict -o s.db
}

@test "a second HSA runtime in a process makes its file INCOMPLETE" {
	run -3 --separate-stderr "$rtl" run --strict -o t.db --device soft -- "$RTL_BUILD/tests/shim/shim-life" second_runtime
	[[ ${stderr_lines[-1]} == "SIMULATED INCOMPLETE: "*", 1 HSA runtime not followed" ]]
	[[ $stderr == *"an HSA runtime was not followed: it was the second one of its process"* ]]
	[ "$(sql t.db "SELECT count FROM rtl_loss WHERE reason = 'runtimes_ignored'")" -eq 1 ]
	accounted t.db
}

@test "behind a tool that handles the packets copies are still recorded" {
	HSA_TOOLS_LIB=$RTL_BUILD/tests/shim/libshim-other-tool.so OTHER_TOOL=submits $rtl run -m full -o t.db --device soft -- \
		"$RTL_BUILD/tests/shim/copies/rtl-copies" each 3 >out 2>err
	[ "$(sql t.db 'SELECT count(*), count(start_ns) FROM rtl_copy')" = "$(grep -c ^copy out)|$(grep -c ^copy out)" ]
	[ "$(grep -c ^copy out)" -gt 0 ]
}

@test "a mistyped RTL_FRONT_END or RTL_MODE is one line, and the job is recorded all the same" {
	# By the job itself: rtl run refuses it.
	$rtl run -o t.db --device soft -- env RTL_FRONT_END=shadwo "$demo" --ranks 1 --steps 3 >out 2>err
	[ "$(grep -c 'RTL_FRONT_END=shadwo' err)" -eq 1 ]
	[ "$(front_ends t.db)" = shadow ]
	$rtl run -o u.db --device soft -- env RTL_MODE=fast "$demo" --ranks 1 --steps 3 >out 2>err
	[ "$(grep -c 'RTL_MODE=fast' err)" -eq 1 ]
	[ "$(sql u.db 'SELECT mode FROM rtl_process')" = standard ]
	[ "$(told out)" = "$(stored u.db)" ]
}

@test "lite: every dispatch is a row, times only where the program has no signal, and it says so" {
	$rtl run -m lite --strict -o t.db --device soft -- "$demo" --ranks 2 --dispatches 3000 --signal-every 3 >out 2>err
	[ "$(told out)" = "$(stored t.db)" ]
	last_line err | grep -Eq '^SIMULATED complete: 6000 dispatched, 6000 stored \(lite: 4000 timed\)$'
	[ "$(sql t.db 'SELECT count(*) FROM rocpd_op WHERE start IS NULL')" -eq 2000 ]
	[ "$(process_counter t.db untimed_mode)" -eq 2000 ]
	[ "$(process_counter t.db own_signals_read)" -eq 0 ]
	[ -z "$(sql t.db 'SELECT * FROM rtl_loss')" ]
	run -0 "$rtl" summary t.db
	[[ $output == *"(lite: 4000 timed)"* ]]
	accounted t.db
}

# flood MODE [COMMAND...]: 100,000 dispatches on a queue of 4,096 packets, complete to the last. However
# loaded the machine is: the end waits until the last records are out.
flood() {
	local mode=$1
	shift
	RTL_EXIT_MS=60000 $rtl run -f -m "$mode" -o t.db --device soft --strict -- "$@" \
		"$demo" --ranks 1 --dispatches 100000 --queue-size 4096 >out 2>err || {
		cat err
		return 1
	}
	grep -q '^dispatched rank=0 gpu=0 kernels=100000$' out
	accounted t.db
	[ "$(sql t.db 'SELECT count(*), count(start) FROM rocpd_op')" = "100000|100000" ]
	[ -z "$(sql t.db 'SELECT * FROM rtl_loss')" ]
	grep -Eq '^SIMULATED complete: 100000 dispatched, 100000 stored' <<<"$(last_line err)"
}

# bats test_tags=apart
@test "a program that floods a queue of 4,096 packets ends as ever, complete, in every mode" {
	for mode in lite standard full hip; do
		flood "$mode"
	done
}

@test "a program that floods its queue is complete where the shim's thread gets no processor" {
	flood standard "$here/../lib/starved" "$RTL_BUILD"
	grep -q '^starved$' err
}

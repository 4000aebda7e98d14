#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What rtl whatif predicts of recorded jobs (steps_main.c: real HIP, two streams and events, a stand-in for
# RCCL whose kernels meet on the software GPU), held to the same job recorded without the cause. The time
# line is virtual, so the script alone says how long kernels take.
load ../../system/lib.bash
bats_require_minimum_version 1.5.0

export ASAN_OPTIONS=detect_leaks=0:use_sigaltstack=0
program=$RTL_BUILD/tests-bin/steps-calls

record() { # record NAME SCRIPT [MODE]: a job of four ranks, NAME.db
	unset SOFTGPU_SCRIPT SOFTGPU_REALTIME
	export SOFTGPU_COUNT=4
	export SOFTGPU_FAULT="kernel work_a duration=20ms;kernel work_b duration=10ms;kernel ncclDev* meet=4;kernel ncclDev* duration=5ms;$2"
	head -c 128 /dev/urandom >id
	RTL_EXIT_MS=60000 "$rtl" run -o "$1.db" --device soft --mode "${3:-hip}" -- sh -c '
		for rank in 0 1 2 3; do
			HIP_VISIBLE_DEVICES=$rank RTL_RANK=$rank "$0" $rank 4 id 40 &
		done
		wait' "$program" >out 2>err || {
		cat err
		return 1
	}
	tail -n 1 err | grep -Eq '^SIMULATED complete: '
}

ask() { # ask NAME OPTION...: step and predicted step in us
	"$rtl" whatif --json "${@:2}" "$1.db" | jq -r '.step_ns, .predictions[0].step_ns | . / 1000 | round'
}

# is_longer A B: by a fifth at least. How much longer is the machine's: kernels end at once, and HIP leaves out a wait
# for an event that has been reached before it is waited for.
is_longer() {
	echo "$1 $2"
	[ $((100 * $1)) -gt $((120 * $2)) ]
}

# is_near A B: within 5 %; the ranks begin apart.
is_near() {
	echo "$1 $2"
	[ $((100 * $1)) -gt $((95 * $2)) ] && [ $((100 * $1)) -lt $((105 * $2)) ]
}

@test "of a recorded job the step is predicted that it takes without a slow GPU, or with quicker all-reduces" {
	record healthy ""
	record slow "kernel work_a gpu=1 duration=30ms"
	record packets "kernel work_a gpu=1 duration=30ms" barriers
	record late "kernel ncclDev* duration=25ms"
	mapfile -t healthy < <(ask healthy --rank 1)
	mapfile -t slow < <(ask slow --rank 1)
	mapfile -t packets < <(ask packets --rank 1)
	mapfile -t other < <(ask slow --rank 2)
	mapfile -t kernel < <(ask slow --kernel work_a)
	mapfile -t late < <(ask late --transfer 0.2x)
	# Four kernels, the last all-reduce, and one kernel more.
	is_near "${healthy[0]}" 95000
	is_near "${healthy[1]}" "${healthy[0]}"
	is_longer "${slow[0]}" "${healthy[0]}"
	is_near "${slow[1]}" "${healthy[0]}"
	# Without HIP's calls, by the barrier packets that HIP makes of events.
	is_longer "${packets[0]}" "${healthy[0]}"
	is_near "${packets[1]}" "${healthy[0]}"
	is_near "${kernel[1]}" "${healthy[0]}"
	is_near "${other[1]}" "${slow[0]}"
	is_longer "${late[0]}" "${healthy[0]}"
	is_near "${late[1]}" "${healthy[0]}"
	[ "$("$rtl" whatif --csv slow.db | sed -n 2p | cut -d, -f1,2)" = rank,1 ]
}

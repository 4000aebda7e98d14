#!/bin/sh
# SPDX-License-Identifier: MIT
# The tests of rtl-demo on the software GPU: check.sh CASE. ctest sets DEMO, OTHER_DEMO, TRUTH,
# SOFTGPU (directories and programs of the build), ROCTX_LIB and SCRIPT.
set -u

for v in RTL_RANK RANK OMPI_COMM_WORLD_RANK PALS_RANKID PMI_RANK MV2_COMM_WORLD_RANK \
	FLUX_TASK_RANK JSM_NAMESPACE_RANK SLURM_PROCID ROCR_VISIBLE_DEVICES HSA_TOOLS_LIB \
	LD_PRELOAD SOFTGPU_SCRIPT SOFTGPU_FAULT SOFTGPU_GFX SOFTGPU_REALTIME SOFTGPU_EAGER SOFTGPU_MEET; do
	unset "$v"
done
export LD_LIBRARY_PATH="$SOFTGPU" SOFTGPU_COUNT=8
dir=$(mktemp -d) || exit 1
parent=
trap '[ -z "$parent" ] || kill -9 "$parent" 2>/dev/null; rm -rf "$dir"' EXIT

fail() {
	echo "FAIL: $*" >&2
	[ ! -s "$dir/err" ] || sed 's/^/stderr: /' "$dir/err" >&2
	[ ! -s "$dir/out" ] || sed 's/^/stdout: /' "$dir/out" >&2
	exit 1
}

# demo STATUS ARG...: runs rtl-demo, which must end with STATUS; output in $dir/out, $dir/err.
demo() {
	want=$1
	shift
	"$DEMO" "$@" >"$dir/out" 2>"$dir/err"
	got=$?
	[ $got -eq "$want" ] || fail "rtl-demo $*: exit status $got, not $want"
}

# traced STATUS ARG...: the same with a truth log for each process, and $dir/truth.csv after.
traced() {
	rm -f "$dir"/truth.*
	SOFTGPU_TRUTH="$dir/truth.%p" demo "$@"
	# Without the kernels by which the runtime copies, on a queue of its own.
	"$TRUTH" "$dir"/truth.[0-9]* >"$dir/all.csv" || fail "softgpu-truth"
	grep -v emulated "$dir/all.csv" >"$dir/truth.csv"
}

# lines LINE...: stdout is exactly these lines.
lines() {
	printf '%s\n' "$@" >"$dir/want"
	cmp -s "$dir/want" "$dir/out" || fail "stdout is not: $*"
}

# What was printed for each GPU is what the software GPU launched there, all of it ended.
compare_with_truth() {
	awk -F'[ =]' '{ n[$5] += $7 } END { for (g in n) print g, n[g] }' "$dir/out" | sort -n >"$dir/printed"
	awk -F, 'NR > 1 { n[$2]++ } END { for (g in n) print g, n[g] }' "$dir/truth.csv" |
		sort -n >"$dir/launched"
	[ -s "$dir/launched" ] || fail "the truth log is empty"
	cmp "$dir/printed" "$dir/launched" || fail "printed and launched differ"
	awk -F, 'NR > 1 && $9 !~ /^done/' "$dir/truth.csv" | grep -q . && fail "not all ended"
	return 0
}

# step_total LAYERS STEPS: one vector_add and 28 L + 7 a step.
step_total() {
	echo $((1 + $2 * (28 * $1 + 7)))
}

ranks() {
	traced 0 --ranks "$1" --steps 5 --gpus "$2"
	n=$(step_total 4 5)
	set -- "$1" "$2" 0
	want=
	while [ "$3" -lt "$1" ]; do
		want="$want${want:+|}dispatched rank=$3 gpu=$(($3 % $2)) kernels=$n"
		set -- "$1" "$2" $(($3 + 1))
	done
	echo "$want" | tr '|' '\n' >"$dir/want"
	cmp -s "$dir/want" "$dir/out" || fail "stdout is not $want"
	compare_with_truth
}

case_only_our_libhsakmt() {
	LD_DEBUG=files LD_DEBUG_OUTPUT="$dir/ld" demo 0 --ranks 2 --steps 1
	grep -h 'calling init:.*libhsakmt' "$dir"/ld.* >"$dir/loaded" || fail "none is loaded"
	grep -v "calling init: $SOFTGPU/" "$dir/loaded" && fail "the real libhsakmt is loaded"
	grep -q 'SIMULATED.*nothing is computed' "$dir/err" || fail "does not say SIMULATED"
	[ "$(grep -c SIMULATED "$dir/err")" -eq 1 ] || fail "says SIMULATED more than once"
}

case_ranks_1() { ranks 1 1; }
case_ranks_4() { ranks 4 4; }
case_ranks_8() { ranks 8 8; }
case_ranks_share_gpus() { ranks 5 2; }

case_two_runs_dispatch_the_same() {
	traced 0 --ranks 2 --steps 4 --layers 3
	cut -d, -f2,6 "$dir/truth.csv" | sort >"$dir/first"
	traced 0 --ranks 2 --steps 4 --layers 3
	cut -d, -f2,6 "$dir/truth.csv" | sort >"$dir/second"
	cmp "$dir/first" "$dir/second" || fail "two runs differ"
	lines "dispatched rank=0 gpu=0 kernels=$(step_total 3 4)" \
		"dispatched rank=1 gpu=1 kernels=$(step_total 3 4)"
}

case_one_gpu_each() {
	n=$(step_total 4 2)
	traced 0 --ranks 3 --steps 2 --one-gpu-each
	lines "dispatched rank=0 gpu=0 kernels=$n" "dispatched rank=1 gpu=1 kernels=$n" \
		"dispatched rank=2 gpu=2 kernels=$n"
	compare_with_truth
	traced 0 --ranks 3 --steps 2 --one-gpu-each --gpus 2
	lines "dispatched rank=0 gpu=0 kernels=$n" "dispatched rank=1 gpu=1 kernels=$n" \
		"dispatched rank=2 gpu=0 kernels=$n"
	compare_with_truth
	ROCR_VISIBLE_DEVICES=5,1 traced 0 --ranks 3 --steps 2 --one-gpu-each
	lines "dispatched rank=0 gpu=5 kernels=$n" "dispatched rank=1 gpu=1 kernels=$n" \
		"dispatched rank=2 gpu=5 kernels=$n"
	compare_with_truth
}

case_gpu_is_of_the_node() {
	n=$(step_total 4 1)
	ROCR_VISIBLE_DEVICES=6,2 traced 0 --ranks 2 --steps 1
	lines "dispatched rank=0 gpu=6 kernels=$n" "dispatched rank=1 gpu=2 kernels=$n"
	compare_with_truth
}

case_dispatches_are_exact() {
	traced 0 --dispatches 100003 --threads 4 --batch 7 --queue-size 64
	lines "dispatched rank=0 gpu=0 kernels=100003"
	compare_with_truth
	traced 0 --dispatches 300001 --ranks 2 --batch 256
	lines "dispatched rank=0 gpu=0 kernels=300001" "dispatched rank=1 gpu=1 kernels=300001"
	compare_with_truth
	traced 0 --dispatches 2003 --rate 20000 --threads 3
	lines "dispatched rank=0 gpu=0 kernels=2003"
	compare_with_truth
}

case_own_signals_are_timed() {
	traced 0 --dispatches 20000 --signal-every 7 --threads 2 --batch 500
	grep -q 'own signals=2856 timed=2856$' "$dir/err" || fail "not 2856 timed signals"
	[ "$(grep -vc no_signal "$dir/truth.csv")" -eq 2857 ] || fail "not 2856 signals seen"
	compare_with_truth
	traced 0 --dispatches 5000 --signal-every 1 --batch 5000
	grep -q 'own signals=5000 timed=5000$' "$dir/err" || fail "not 5000 timed signals"
	traced 0 --steps 3 --signal-every 10
	grep -q 'own signals=35 timed=35$' "$dir/err" || fail "not 35 timed signals"
	compare_with_truth
	# 1000 groups of 7 and an incomplete one, from each of two threads.
	traced 0 --dispatches 14006 --signal-shared 7 --threads 2 --batch 300
	grep -q 'own signals=2002 timed=2002$' "$dir/err" || fail "not 2002 timed signals"
	grep -q no_signal "$dir/truth.csv" && fail "a dispatch has no signal"
	compare_with_truth
	traced 0 --steps 3
	[ "$(grep -vc no_signal "$dir/truth.csv")" -eq 1 ] || fail "a dispatch has a signal"
}

case_straggler_dispatches_as_many() {
	n=$(step_total 4 3)
	SOFTGPU_SCRIPT="$SCRIPT" traced 0 --ranks 3 --steps 3 --straggler 1
	lines "dispatched rank=0 gpu=0 kernels=$n" "dispatched rank=1 gpu=1 kernels=$n" \
		"dispatched rank=2 gpu=2 kernels=$n"
	compare_with_truth
	# Busy 10 ns ticks of each GPU: the straggler's are a quarter more at least.
	awk -F, 'NR > 1 { busy[$2] += $8 - $7 }
		END { exit !(busy[1] > 1.25 * busy[0] && busy[0] == busy[2]) }' "$dir/truth.csv" ||
		fail "rank 1 is not slower, or rank 0 and 2 differ"
	awk -F, '/MT32x32x16/ && $2 != 1' "$dir/truth.csv" | grep -q . && fail "others are slow"
	awk -F, '/MT128x128x16/ && $2 == 1' "$dir/truth.csv" | grep -q . && fail "rank 1 is fast"
	return 0
}

# Waits until the GPUs have launched as many kernels as given; the deadline is for a broken program.
wait_for_launched() {
	deadline=$(($(date +%s) + 300))
	until [ "$("$TRUTH" "$dir"/truth.[0-9]* 2>/dev/null |
		awk -F, 'NR > 1 && !/emulated/' | wc -l)" -ge "$1" ]; do
		[ "$(date +%s)" -lt $deadline ] || fail "not $1 kernels in time"
		kill -0 "$parent" 2>/dev/null || fail "ended instead of hanging"
		sleep 0.05
	done
}

# With meet= in the script no rank leaves a collective before the last has come: it ends on all GPUs at
# one time (ticks less the offset of the node), after the latest start and its duration.
case_collectives_end_together_where_the_script_has_it() {
	SOFTGPU_SCRIPT="$SCRIPT" SOFTGPU_FAULT='kernel *ncclDevKernel_* meet=ranks' \
		traced 0 --ranks 4 --steps 3 --straggler 1
	compare_with_truth
	awk -F, 'NR > 1 && $6 ~ /ncclDevKernel/ {
		offset = $3 * 7000000000007
		at = $6 " " n[$2, $6]++
		came[at]++
		if ($7 - offset > last[at])
			last[at] = $7 - offset
		ends[at] = ends[at] " " $8 - offset
		took[at] = $6 ~ /AllReduce/ ? 42119 : 61205
	}
	END {
		for (at in came) {
			meetings++
			split(ends[at], end, " ")
			for (i in end)
				if (came[at] != 4 || end[i] != last[at] + took[at])
					print at, came[at], last[at], ends[at]
		}
		if (meetings != 3 * 5)
			print meetings " meetings"
	}' OFMT=%.0f CONVFMT=%.0f "$dir/truth.csv" >"$dir/wrong"
	[ ! -s "$dir/wrong" ] || fail "not together: $(head -n 3 "$dir/wrong")"
}

case_hang_is_reported_when_killed() {
	SOFTGPU_SCRIPT="$SCRIPT" SOFTGPU_TRUTH="$dir/truth.%p" "$DEMO" --ranks 2 --steps 9 \
		--hang-at 1 --fault-rank 1 >"$dir/out" 2>"$dir/err" &
	parent=$!
	# Rank 0 waits for rank 1 after step 1; rank 1 has one kernel more.
	wait_for_launched $((2 * $(step_total 4 2) + 1))
	"$TRUTH" "$dir"/truth.[0-9]* | grep -q ',wait_for_flag,.*never' || fail "nothing hangs"
	kill -TERM $parent
	wait $parent
	got=$?
	parent=
	[ $got -eq 143 ] || fail "exit status $got, not 143"
	lines "dispatched rank=0 gpu=0 kernels=$(step_total 4 2)" \
		"dispatched rank=1 gpu=1 kernels=$(($(step_total 4 2) + 1))"
}

case_exit_modes() {
	n=$(step_total 4 2)
	for mode in return:0 _exit:0 abort:134 kill:137; do
		demo "${mode#*:}" --steps 2 --exit-mode "${mode%:*}"
		lines "dispatched rank=0 gpu=0 kernels=$n"
		demo "${mode#*:}" --steps 2 --exit-mode "${mode%:*}" --no-wait
		lines "dispatched rank=0 gpu=0 kernels=$n"
	done
	demo 137 --ranks 3 --steps 2 --exit-mode kill --fault-rank 1
	lines "dispatched rank=0 gpu=0 kernels=$n" "dispatched rank=1 gpu=1 kernels=$n" \
		"dispatched rank=2 gpu=2 kernels=$n"
	demo 0 --steps 2 --no-shutdown
	lines "dispatched rank=0 gpu=0 kernels=$n"
	demo 0 --init-only --ranks 2
	lines "dispatched rank=0 gpu=0 kernels=0" "dispatched rank=1 gpu=1 kernels=0"
}

case_no_hsa_loads_no_hsa() {
	LD_DEBUG=files LD_DEBUG_OUTPUT="$dir/ld" demo 0 --no-hsa --ranks 2 --steps 3
	[ ! -s "$dir/out" ] || fail "prints a GPU's line without a GPU"
	# The parent is linked to HSA, its ranks are not.
	[ "$(grep -l 'libhsa' "$dir"/ld.* | wc -l)" -eq 1 ] || fail "a rank loads HSA"
	[ "$(grep -L 'libhsa' "$dir"/ld.* | wc -l)" -eq 2 ] || fail "not two ranks"
	RTL_RANK=3 demo 0 --no-hsa --steps 3
	demo 137 --no-hsa --ranks 2 --steps 3 --exit-mode kill --fault-rank 0
}

# launcher GPU RANK VAR=VALUE...: is the rank that these variables name.
launcher() {
	want="dispatched rank=$2 gpu=$1 kernels=$(step_total 4 1)"
	shift 2
	env "$@" "$DEMO" --steps 1 >"$dir/out" 2>"$dir/err" || fail "under $*"
	lines "$want"
}

case_is_the_launchers_rank() {
	launcher 5 5 RTL_RANK=5 RANK=1
	launcher 1 9 RANK=9 LOCAL_RANK=1 GROUP_RANK=1 WORLD_SIZE=16 LOCAL_WORLD_SIZE=8
	launcher 3 11 OMPI_COMM_WORLD_RANK=11 OMPI_COMM_WORLD_LOCAL_RANK=3 OMPI_COMM_WORLD_SIZE=16
	launcher 2 6 PALS_RANKID=6 PALS_LOCAL_RANKID=2 PMI_RANK=0
	launcher 1 7 PMI_RANK=7 MPI_LOCALRANKID=1 PMI_SIZE=8
	launcher 4 4 PMI_RANK=4
	launcher 1 3 MV2_COMM_WORLD_RANK=3 MV2_COMM_WORLD_LOCAL_RANK=1
	launcher 0 8 FLUX_TASK_RANK=8 FLUX_TASK_LOCAL_ID=0 FLUX_JOB_SIZE=9
	launcher 2 2 JSM_NAMESPACE_RANK=2 JSM_NAMESPACE_LOCAL_RANK=2
	launcher 1 5 SLURM_PROCID=5 SLURM_LOCALID=1 SLURM_NTASKS=8
	# mpirun inside an sbatch script; and RANK alone is not torchrun's.
	launcher 2 2 SLURM_PROCID=0 SLURM_LOCALID=0 OMPI_COMM_WORLD_RANK=2
	launcher 0 0 RANK=7
	env RTL_RANK=1 "$DEMO" --steps 1 --one-gpu-each >"$dir/out" 2>"$dir/err" || fail "RTL_RANK"
	lines "dispatched rank=1 gpu=1 kernels=$(step_total 4 1)"
	env SLURM_PROCID=1 SLURM_NTASKS=2 "$DEMO" --steps 1 --ranks 4 >"$dir/out" 2>"$dir/err"
	grep -q 'srun as rank 1 of 2: --ranks 4 is not heeded' "$dir/err" || fail "says nothing"
	env RTL_RANK=1 "$DEMO" --steps 1 --ranks 4 >"$dir/out" 2>"$dir/err"
	grep -q 'user as rank 1: --ranks 4 is not heeded' "$dir/err" || fail "names a number of ranks that is unknown"
}

case_ranks_have_torchruns_variables() {
	SOFTGPU_SCRIPT="$SCRIPT" SOFTGPU_TRUTH="$dir/truth.%p" "$DEMO" --ranks 2 --steps 1 \
		--hang-at 0 >"$dir/out" 2>"$dir/err" &
	parent=$!
	wait_for_launched $((2 * $(step_total 4 1) + 2))
	pid=$(set -- "$dir"/truth.[0-9]*; echo "${1##*.}")
	tr '\0' '\n' <"/proc/$pid/environ" >"$dir/environ" || fail "rank $pid is gone"
	[ "$(cat "/proc/$pid/comm")" = rtl-demo ] || fail "ps does not call a rank rtl-demo"
	kill -TERM $parent
	wait $parent
	for v in 'RANK=[01]' 'LOCAL_RANK=[01]' WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 GROUP_RANK=0 \
		GROUP_WORLD_SIZE=1 "TORCHELASTIC_RUN_ID=rtl-demo-$parent" \
		TORCHELASTIC_RESTART_COUNT=0 MASTER_ADDR=127.0.0.1; do
		grep -qx "$v" "$dir/environ" || fail "no $v in a rank's environment"
	done
	parent=
}

# refused ARG...: one line on stderr, nothing on stdout, exit 2.
refused() {
	demo 2 "$@"
	[ ! -s "$dir/out" ] || fail "$*: writes to stdout"
	[ "$(wc -l <"$dir/err")" -eq 1 ] || fail "$*: not one line"
	grep -q '^rtl-demo: ' "$dir/err" || fail "$*: the line does not begin with the program's name"
}

case_wrong_arguments_are_refused() {
	refused --ranks 0
	refused --ranks
	refused --ranks 1x
	refused --ranks -1
	refused --steps ''
	refused --nonsense
	refused argument
	refused --steps 1 --dispatches 1
	refused --rate 10
	refused --rate 0 --dispatches 1
	refused --threads 65 --dispatches 1
	refused --queue-size 100
	refused --queue-size 262144
	refused --queue-size 64 --batch 33 --dispatches 99
	refused --hang-at 10
	refused --hang-at 3 --steps 3
	refused --straggler 2 --ranks 2
	refused --fault-rank 2 --ranks 2
	refused --exit-mode sideways
	refused --init-only --no-hsa
	refused --signal-every 2 --signal-shared 2
	demo 0 --help
	grep -q 'dispatched rank=R gpu=G kernels=N' "$dir/out" || fail "--help lacks the last line"
	demo 0 --version
}

case_no_gpu_is_one_clear_line() {
	SOFTGPU_COUNT=0 demo 1 --steps 1
	[ "$(cat "$dir/err")" = "rtl-demo: rank 0: the HSA runtime shows no GPU" ] ||
		fail "no clear line"
	SOFTGPU_COUNT=0 demo 1 --steps 1 --one-gpu-each --ranks 2
	[ "$(cat "$dir/err")" = "rtl-demo: the HSA runtime shows no GPU" ] || fail "no clear line"
	"$OTHER_DEMO" --steps 1 >"$dir/out" 2>"$dir/err" && fail "runs without a code object"
	grep -qx "rtl-demo: rank 0: no code object for this GPU's target 'gfx90a'; built for: gfx906" \
		"$dir/err" || fail "does not say which code object is missing"
}

case_every_target_has_code() {
	for gfx in gfx900 gfx906 gfx908 gfx90a gfx1030 gfx1031; do
		SOFTGPU_GFX=$gfx traced 0 --steps 1
		grep -q "SIMULATED $gfx" "$dir/err" || fail "is not $gfx"
		compare_with_truth
		grep -q name_unknown "$dir/truth.csv" && fail "a kernel of $gfx has no name"
	done
	return 0
}

case_script_knows_every_kernel() {
	demo 0 --list-kernels
	sed -n 's/^kernel \([^ ]*\) .*/\1/p' "$SCRIPT" >"$dir/patterns"
	while read -r name; do
		hits=0
		while read -r pattern; do
			# shellcheck disable=SC2254 # the script's names are patterns
			case $name in $pattern) hits=$((hits + 1)) ;; esac
		done <"$dir/patterns"
		[ $hits -eq 1 ] || fail "$hits lines of the script are for $name"
	done <"$dir/out"
	[ "$(wc -l <"$dir/patterns")" -eq "$(wc -l <"$dir/out")" ] || fail "a line is for nothing"
	sed -n 's/.* duration=//p' "$SCRIPT" | grep -v '0$' && fail "not a multiple of 10 ns"
	return 0
}

case_roctx_ranges_nest() {
	export ROCTX_LOG="$dir/roctx"
	# A sanitizer's runtime wants to be the first; here the preloaded library is.
	export ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0"
	LD_PRELOAD="$ROCTX_LIB" demo 0 --steps 2
	for step in 0 1; do
		printf '%s\n' "push step $step" 'push forward' pop 'push backward' pop \
			'push optimizer' pop pop
	done >"$dir/want"
	cmp "$dir/want" "$dir/roctx" || fail "the ranges differ"
}

"case_$1"

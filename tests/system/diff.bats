#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# rtl diff, on runs whose figures are worked out by hand (fixture_diff.py says how), and on real ones.
load lib.bash
bats_require_minimum_version 1.5.0

# fixture NAME [KEY=VALUE...]: many tests have the same ones, which are made once.
fixture() {
	local made
	made=$BATS_FILE_TMPDIR/$(printf '%s,' "$@")
	[ -e "$made" ] || python3 "$here/fixture_diff.py" "$here/../../collectord/db/schema" "$made" "name=$1" "${@:2}"
	cp "$made" "$1.db"
}

# columns FILE-ARGUMENTS... -- TABLE COLUMN...: these columns of a CSV table, "|" between, a row a line
columns() {
	local files=()
	while [ "$1" != -- ]; do
		files+=("$1")
		shift
	done
	local table=$2
	shift 2
	local names
	names=$(printf ',[%s]' "$@") # in brackets, since a name in quotes that is no column's is a text
	"$rtl" diff --csv="$table" "${files[@]}" >columns.csv
	sqlite3 :memory: '.import --csv columns.csv t' "SELECT ${names#,} FROM t"
}

equals() { # equals TEXT EXPECTED
	[ "$1" = "$2" ] || {
		diff <(echo "$2") <(echo "$1")
		return 1
	}
}

@test "the step and its parts, with the spread of steps and of ranks" {
	# Steps 1 to 4 are compared, 0 is warm-up. Steps alternate by 40 us of gemm and 20 us of all:
	# 2 sqrt(40^2 / 12 * 2) = 32.660, 2 sqrt(20^2 / 12) = 11.547, 2 sqrt((40^2 + (20 - 40)^2) / 12) = 25.820.
	fixture a jitter=40 wobble=20 warm=300
	fixture b jitter=40 gemm=500 slow=100 slow_rank=1 hidden=80
	equals "$(columns a.db b.db -- timeline figure reference_ns candidate_ns delta_ns error_ns clear)" \
		"step|1010000|1000000|-10000|11547|0
computation|420000|570000|150000|32660|1
exposed_communication|150000|120000|-30000|0|1
exposed_copies|0|0|0|0|0
idle|440000|310000|-130000|25820|1
communication|200000|200000|0|0|0
hidden_communication|50000|80000|30000|0|1
hidden_allreduce|50000|80000|30000|0|1
hidden_reducescatter|0|0|0|0|0"
	# Of one rank 420 and 520, of the other 420 and 620.
	equals "$(columns a.db b.db -- timeline figure ratio rank_ratio_min rank_ratio_max | sed -n 2p)" \
		"computation|1.35714285714286|1.23809523809524|1.47619047619048"
	equals "$(columns a.db b.db -- ranks rank gpuId candidate_steps reference_step_ns candidate_step_ns \
		delta_computation_ns delta_exposed_communication_ns delta_idle_ns)" \
		"0|0|4|1010000|1000000|100000|-30000|-80000
1|1|4|1010000|1000000|200000|-30000|-180000"
	run -0 "$rtl" diff a.db b.db
	equals "${lines[-1]}" "b: no clear change: a step takes 1.000 ms against 1.010 (-1.0 %; steps alone explain +-0.012 ms); clear is computation, +0.150 ms"
}

@test "exposed copies are unknown, not 0, where no copy has a time" {
	fixture a
	fixture b gemm=500
	sqlite3 b.db "INSERT INTO rtl_copy_base VALUES (1, 1, 7, 5000000000, 4096, 'async', 'h2d', NULL, 0, NULL, NULL, NULL, NULL, NULL)"
	equals "$(columns a.db b.db -- timeline figure reference_ns candidate_ns delta_ns ratio error_ns clear | grep copies)" "exposed_copies|0|||||"
	"$rtl" diff --json a.db b.db | jq -e '.comparisons[0] | (.timeline[] | select(.figure == "exposed_copies") | .candidate_ns == null and .delta_ns == null),
		([.ranks[].delta_exposed_copies_ns] | all(. == null))'
	run -0 "$rtl" diff a.db b.db
	grep -Eq '^ *exposed copies +0\.000 +- +- +- +- +- ' <<<"$output"
	"$rtl" report b.db a.db --html out.html
	grep -q '<dt>Exposed copies<dd>- <small>' out.html
	grep -q '<dt>Exposed copies<dd>0.0 % <small>' out.html
	grep -Eq '<td>exposed copies \(%\)<td[^>]*>-<td[^>]*>0\.0' out.html
}

@test "kernels: new ones, gone ones, of each rank; most of the change first" {
	fixture a
	fixture b gemm=500 slow=100 slow_rank=1 extra=30
	# 10 steps of two ranks, the first included: 550 - 400 and 30 us of each.
	equals "$(columns a.db b.db -- kernels reference_calls candidate_calls reference_total_ns candidate_total_ns \
		candidate_mean_ns mean_ratio rank_ratio_min rank_ratio_max delta_of_step_ns name)" \
		"10|10|4000000|5500000|550000|1.375|1.25|1.5|150000|gemm_f16(float*)
0|10|0|300000|30000||||30000|new_kernel(int)
10|10|2000000|2000000|200000|1|1|1|0|ncclDevKernel_AllReduce_Sum_f32_RING_LL(void*)"
	equals "$(columns --reference b b.db a.db -- kernels delta_of_step_ns name | tail -n +2 | head -1)" "-30000|new_kernel(int)"
	run -0 "$rtl" diff a.db b.db
	grep -q '^KERNELS (SIMULATED): 2 of 3, that changed most; --top 0 shows all$' <<<"$output"
	run -0 "$rtl" diff --top 0 a.db b.db
	grep -q '  ncclDevKernel_AllReduce' <<<"$output"
}

@test "several files against one, whichever is named" {
	fixture a
	fixture b period=1100
	fixture c period=1200
	equals "$(columns a.db b.db c.db --reference b -- timeline reference candidate figure delta_ns | grep '|step|')" \
		"b|a|step|-100000
b|c|step|100000"
	equals "$(columns a.db b.db --label before --label after -- timeline reference candidate figure delta_ns | sed -n 1p)" \
		"before|after|step|100000"
	run -1 --separate-stderr "$rtl" diff a.db b.db --reference zebra
	equals "$stderr" "rtl: diff: --reference zebra: no FILE is called that"
	# The same session twice is no reason to mix them up.
	cp a.db same.db
	equals "$(columns a.db same.db -- timeline reference candidate delta_ns | sort -u)" "a|same.db|0"
}

# bats test_tags=apart
@test "what cannot be compared is refused with its reason, unless allowed" {
	local what options
	fixture a
	while read -r what options; do
		rm -f b.db
		# shellcheck disable=SC2086 # a list of options
		fixture b $options
		run -4 --separate-stderr "$rtl" diff a.db b.db
		[ -z "$output" ]
		[ "$(wc -l <<<"$stderr")" -eq 1 ]
		grep -q "^rtl: diff: b cannot be compared with a: $what: " <<<"$stderr"
		grep -q "; compare all the same: --allow $what\$" <<<"$stderr"
		# Either way round.
		run -4 --separate-stderr "$rtl" diff b.db a.db
		run -0 "$rtl" diff --allow "$what" a.db b.db
		grep -q "^NOT COMPARABLE, compared all the same: $what: " <<<"$output"
		run -0 "$rtl" diff --allow all --json a.db b.db
		jq -e --arg what "$what" '.compared and (.comparisons[0] | (.comparable | not) and .obstacles[0].what == $what)' <<<"$output"
		run -4 --separate-stderr "$rtl" diff --json a.db b.db
		jq -e '(.compared | not) and (.comparisons[0] | has("timeline") | not)' <<<"$output"
	done <<-'EOF'
		ranks missing=1
		ranks ranks=3
		coverage untimed=1
		coverage recording=1
		steps steps=6
		steps markers=0
		steps fewer=1
		ranks again=gpu
		modes mode=hip
		modes front_end=intercept
		losses lost=3
		losses live=1
		device simulated=0
		device gfx=gfx942
		categories rule=attention
		kernels prefix=other_
	EOF
	# A lost rank is not half of the time saved, an empty capture is no win (nsys-ai 389, 416).
	rm -f b.db
	fixture b kernels=0
	run -4 --separate-stderr "$rtl" diff --allow all a.db b.db
	equals "$stderr" "rtl: diff: b cannot be compared with a: empty: b has no kernel with a time"
	run -4 --separate-stderr "$rtl" diff --allow all b.db a.db
}

@test "lanes of two runs are paired by rank and GPU, whatever their numbers" {
	fixture a again=gpu
	fixture b again=process
	# Two GPUs of a process are not two processes of a rank, of which one leads.
	run -4 --separate-stderr "$rtl" diff a.db b.db
	grep -q '3 ranks and GPUs against 2: b has no kernels of GPU number 2 of rank 0' <<<"$stderr"
	run -4 --separate-stderr "$rtl" diff b.db a.db
	grep -q '2 ranks and GPUs against 3: b has no kernels of GPU number 2 of rank 0' <<<"$stderr"
	fixture c again=gpu first_gpu=4 gemm=450
	equals "$(columns a.db c.db -- ranks rank gpuId delta_computation_ns)" "0|4|50000
0|12|50000
1|5|50000"
}

@test "a rank is one process: preflights, children and failed attempts change no figure" {
	local helper others table
	fixture a
	fixture b gemm=450
	for helper in preflight child attempt; do
		fixture $helper helper=$helper
		run -0 "$rtl" diff --json a.db $helper.db
		jq -e '.files[1] | .lanes == 2 and [.others[] | [.rank, .process_id]] == [[0, 22], [1, 23]]' <<<"$output"
		# No figure differs: neither of this pair, nor of another one.
		for table in timeline ranks kernels collectives stragglers; do
			equals "$("$rtl" diff --csv=$table --label x --label y $helper.db b.db)" \
				"$("$rtl" diff --csv=$table --label x --label y a.db b.db)"
			equals "$("$rtl" diff --csv=$table --label x --label y b.db $helper.db)" \
				"$("$rtl" diff --csv=$table --label x --label y b.db a.db)"
		done
		# They are shown all the same.
		run -0 "$rtl" diff a.db $helper.db
		others=$(grep -c '^  not compared: 2 processes that do not lead their rank: process 22 of rank 0, process 23 of rank 1$' <<<"$output")
		[ "$others" -eq 1 ]
	done
}

@test "other rules of what is communication are seen, and can be made the same" {
	fixture a
	fixture b rule=attention
	run -4 "$rtl" diff a.db b.db
	# What the file does not match is as each session has it.
	echo 'communication *nccl*' >rules
	run -4 "$rtl" diff --categories rules a.db b.db
	echo 'other *' >>rules
	run -0 "$rtl" diff --categories rules a.db b.db
	RTL_CATEGORIES=rules run -0 "$rtl" diff a.db b.db
}

@test "a threshold is for CI: exit 5 only where it is passed, and clearly" {
	fixture a
	fixture slower period=1100
	fixture noisy period=1000 wobble=1000
	run -0 "$rtl" diff --threshold 10 a.db slower.db
	run -5 "$rtl" diff --threshold 9.9 a.db slower.db
	equals "${lines[-1]}" "REGRESSION: a step takes over 9.9 % more"
	run -0 "$rtl" diff --threshold 9.9 slower.db a.db
	# 1.5 ms against 1.0, in steps of 1 and 2 ms: 2 sqrt(1 / 12) = 0.577 ms.
	run -0 "$rtl" diff --threshold 10 a.db noisy.db
	equals "$(columns a.db noisy.db -- timeline delta_ns error_ns clear | sed -n 1p)" "500000|577350|0"
	fixture kernel gemm=480
	run -0 "$rtl" diff --threshold kernel=20 a.db kernel.db
	run -5 "$rtl" diff --threshold kernel=19 --threshold 50 a.db kernel.db
	equals "${lines[-1]}" "REGRESSION: 1 kernel takes over 19 % more of a step"
	run -5 "$rtl" diff --json --threshold kernel=19 a.db kernel.db
	jq -e '.comparisons[0] | .regression and ([.kernels[] | select(.regression) | .name] == ["gemm_f16(float*)"])' <<<"$output"
}

@test "a run with more steps of a longer kind is no slower run, and the kind that is slower is named" {
	# Steps of one kind take 1000 or 1010 us, of the other, which the first run has less of, 3000 more.
	fixture a steps=100 prefill=20 wobble=10
	fixture mixed steps=100 prefill=55 wobble=10
	fixture slower steps=100 prefill=55 wobble=10 prefill_us=4200 prefill_kernel=1400
	fixture without steps=100 wobble=10
	run -0 "$rtl" diff --threshold 1 --threshold rank=1 a.db mixed.db
	[[ ${lines[-1]} == "mixed: no clear change: a step takes "*"; with kinds of steps as often as in the reference (as each run mixes them: 2.641 ms against 1.581)"* ]]
	[[ ${lines[-1]} != *kernel* ]]
	run -0 "$rtl" diff --threshold 1 --threshold rank=1 mixed.db a.db
	run -5 "$rtl" diff --threshold 10 a.db slower.db
	equals "${lines[-2]}" "REGRESSION: a step takes over 10 % more"
	[[ ${lines[-1]} == "REGRESSION: a step of kind B takes over 10 % more: 5.2"*" ms against 4.00"* ]]
	[[ ${lines[-3]} == "slower: a step takes 14."*"; changed are only steps of kind B: 1.30x, 5.2"* ]]
	# Where all steps together pass, the kind that does not fails.
	run -5 "$rtl" diff --threshold 20 a.db slower.db
	[[ ${lines[-1]} == "REGRESSION: a step of kind B takes over 20 % more: "* && ${lines[-2]} == "slower: "* ]]
	run -0 "$rtl" diff --threshold 31 a.db slower.db
	# The letters are those of each run, by the time; 0 is warm-up.
	equals "$(columns a.db slower.db -- kinds reference_kind candidate_kind reference_steps candidate_steps regression)" "A|B|160|90|0
B|A|38|108|0"
	"$rtl" diff --json --threshold 20 a.db slower.db >out || [ $? -eq 5 ]
	jq -e '.comparisons[0] | .by_kind and .regression and [.kinds[] | .regression] == [false, true] and (.kinds[1].ratio - 1.3 | fabs) < 0.01' out
	# A kind that one alone has is told, and never hides what takes longer.
	run -5 "$rtl" diff --threshold 1 without.db a.db
	[[ ${lines[-2]} == *"; kinds of steps are as each run mixes them, for some are not in both or come less than 3 times; only a has steps of kind B, 48.6 % of its time"* ]]
	equals "${lines[-1]}" "REGRESSION: a step takes over 1 % more"
	equals "$(columns a.db without.db -- kinds reference_kind candidate_kind candidate_steps candidate_ns)" "A|A|198|1005051
B||0|"
	# Where it takes less than a tenth of the time it is in no figure.
	fixture few steps=100 prefill=2 wobble=10
	run -0 "$rtl" diff --threshold 1 without.db few.db
	[[ ${lines[-1]} == "few: no clear change: "*"; with kinds of steps as often as in the reference ("*"); only few has steps of kind B, 3.9 % of its time" ]]
	# Runs of one kind have no such table.
	run -0 "$rtl" diff without.db without.db
	not grep -q KINDS <<<"$output"
}

@test "a threshold for ranks finds the one that the mean of all hides" {
	# What rank 3 computes is 38 % longer, of all 4.75 %; no step is longer, for it has slack.
	fixture a ranks=8 jitter=4
	fixture slack ranks=8 jitter=4 slow=152 slow_rank=3
	run -0 "$rtl" diff --threshold 5 --threshold rank=38.1 a.db slack.db
	run -5 "$rtl" diff --threshold 5 --threshold rank=10 a.db slack.db
	equals "${lines[-1]}" "REGRESSION: rank 3 takes over 10 % more: what it computes in a step 0.554 ms against 0.402"
	equals "${lines[-2]}" "slack: no clear change: a step takes 1.000 ms against 1.000 (+0.0 %; steps alone explain +-0.000 ms); clear is computation, +0.019 ms; rank 3 computes 1.38x, 0.554 ms against 0.402 (the rank in the middle: 1.00x)"
	run -5 "$rtl" diff --json --threshold rank=10 a.db slack.db
	jq -e '.comparisons[0] | .regression and [.ranks[] | select(.regression) | .rank] == [3]' <<<"$output"
	run -0 "$rtl" diff --threshold rank=10 slack.db a.db
	# Replicas wait for none: the step of one alone is longer.
	fixture alone ranks=8 longer=300 longer_rank=6
	fixture b ranks=8
	run -0 "$rtl" diff --threshold 5 b.db alone.db
	run -5 "$rtl" diff --threshold 5 --threshold rank=29 b.db alone.db
	equals "${lines[-1]}" "REGRESSION: rank 6 takes over 29 % more: its step 1.300 ms against 1.000"
	run -0 "$rtl" diff --threshold rank=30 b.db alone.db
	# Where all wait for the one, all steps are longer; it is told by what it computes.
	fixture waited ranks=8 jitter=4 slow=152 slow_rank=3 period=1152
	run -5 "$rtl" diff --threshold rank=10 a.db waited.db
	equals "${lines[-1]}" "REGRESSION: 8 ranks take over 10 % more, rank 3 by most: what it computes in a step 0.554 ms against 0.402"
	# Not by what its own steps differ among themselves: 2 sqrt(400^2 / 12) = 231 us of them.
	fixture noisy ranks=8 jitter=400
	fixture slower ranks=8 jitter=400 slow=200 slow_rank=1
	run -0 "$rtl" diff --threshold rank=10 noisy.db slower.db
}

@test "the sentence says which rank comes late, and that collectives are as fast as before" {
	fixture a ranks=4
	fixture late ranks=4 late=132000 late_rank=3
	run -0 "$rtl" diff a.db late.db
	[[ ${lines[-1]} == *"; rank 3 comes 660 ms late to collectives, against 0.000; latency unchanged; most by "* ]]
	equals "$(columns a.db late.db -- stragglers rank candidate_late_ns | tail -1)" "3|660000000"
	run -0 "$rtl" diff late.db a.db
	[[ ${lines[-1]} == *"; rank 3 comes 0.000 ms late to collectives, against 660; latency unchanged; most by "* ]]
	# No rank is late where the bytes take longer.
	fixture network ranks=4 comm=400 period=1200
	run -0 "$rtl" diff a.db network.db
	[[ ${lines[-1]} == *"; exposed communication +0.200 ms; latency 2.00x; most by "* ]]
}

@test "programs without a kernel in common are not compared, whatever the runtime gives both" {
	fixture a
	# 0.8 % of the time of kernels is of one that both have.
	fixture b prefix=other_ extra=5
	fixture c extra=5
	sqlite3 b.db "UPDATE rocpd_string SET string = 'new_kernel(int)' WHERE string = 'other_new_kernel(int)'"
	run -4 --separate-stderr "$rtl" diff c.db b.db
	equals "$stderr" "rtl: diff: b cannot be compared with c: kernels: kernels that both have take 0.8 % of the time of kernels against 0.8 %: two programs?; compare all the same: --allow kernels"
	run -0 "$rtl" diff --allow kernels c.db b.db
	# Of one of them alone it may be little: what took all the time is new.
	fixture d prefix=other_ extra=100 gemm=9000 period=20000
	sqlite3 d.db "UPDATE rocpd_string SET string = 'new_kernel(int)' WHERE string = 'other_new_kernel(int)'"
	fixture e extra=5 gemm=50 comm=60
	run -0 "$rtl" diff e.db d.db
}

@test "AORTA's fields are in the document, with its formulas" {
	fixture a loss=4,2
	fixture b gemm=500 hidden=100
	run -0 "$rtl" diff --json a.db b.db
	jq -e '.aorta.datasets.a == {count: 8, mean_loss: 3.0, mean_overlap_ms: 0.05, mean_compute_ms: 0.4,
		mean_allreduce_overlap_ms: 0.05, mean_reducescatter_overlap_ms: 0.0, overlap_ratio: 0.125}' <<<"$output"
	jq -e '.aorta.datasets.b.mean_loss == null and .aorta.datasets.b.overlap_ratio == 0.2' <<<"$output"
	jq -e '.aorta.comparison | .reference_overlap_ratio == 0.125 and .candidate_overlap_ratio == 0.2
		and (.ratio_delta - 0.075 | fabs) < 1e-12' <<<"$output"
}

# bats test_tags=apart
@test "diff of runs without steps, of hostile names and of a thousand ranks" {
	fixture a markers=0 steps=2
	fixture b markers=0 steps=2 gemm=500
	# Too short for a period: the run is the step, and how much runs differ is unknown.
	run -0 "$rtl" diff a.db b.db
	grep -q '(how much runs differ is not known)' <<<"${lines[-1]}"
	run -5 "$rtl" diff --threshold 1 a.db b.db
	sqlite3 b.db "UPDATE rocpd_string SET string = char(27) || ']0;x' || char(7) || '<b>' WHERE string LIKE 'gemm%'"
	for form in "" --json --csv=kernels; do
		# shellcheck disable=SC2086 # none or one
		run -0 "$rtl" diff $form a.db b.db
		[ "$(LC_ALL=C tr -d '\n\t\040-\176\200-\377' <<<"$output" | wc -c)" -eq 0 ]
	done
	fixture many ranks=1000 steps=4
	fixture more ranks=1000 steps=4 slow=100 slow_rank=999
	equals "$(columns many.db more.db -- ranks rank delta_computation_ns | sort -t'|' -k2n | tail -1)" "999|100000"
}

# bats test_tags=apart
@test "diff compares a file of every older version with a new one" {
	local version schema=$here/../../collectord/db/schema
	fixture b gemm=500
	for ((version = 1; version <= $(printf '%s\n' "$schema"/*.sql | wc -l); version++)); do
		mkdir "v$version"
		printf '%s\n' "$schema"/*.sql | head -n $version | xargs cp -t "v$version"
		python3 "$here/fixture_diff.py" "v$version" "old$version.db" name=old
		[ "$(sql "old$version.db" 'PRAGMA user_version')" -eq $version ]
		equals "$(columns "old$version.db" b.db -- timeline reference candidate figure reference_ns delta_ns clear | sed -n 1,2p)" \
			"old|b|step|1000000|0|0
old|b|computation|400000|100000|1"
		equals "$(columns b.db "old$version.db" -- kernels delta_of_step_ns name)" "-100000|gemm_f16(float*)
0|ncclDevKernel_AllReduce_Sum_f32_RING_LL(void*)"
	done
	[ "$version" -gt 9 ]
}

@test "names of 4 KiB that differ in their last byte are two kernels" {
	fixture a
	fixture b gemm=500
	for file in a b; do
		sqlite3 $file.db "UPDATE rocpd_string SET string = printf('%.*c', 4095, 'g') || '$file' WHERE string LIKE 'gemm%'"
	done
	equals "$(columns a.db b.db -- kernels reference_calls candidate_calls delta_of_step_ns name |
		awk -F'|' '{print $1 "|" $2 "|" $3 "|" length($4) substr($4, length($4))}')" "0|10|500000|4096b
10|0|-400000|4096a
10|10|0|46)"
	"$rtl" diff --json --top 0 a.db b.db | jq -e '[.comparisons[0].kernels[].name | length] == [4096, 4096, 46]'
	run -0 "$rtl" diff a.db b.db
	python3 -c 'import sys; assert max(map(len, open(0, encoding="utf-8"))) <= 203' <<<"$output"
	# What is shown short is what was compared in full: both are there.
	[ "$(sed '/OTHERS REPLACE/,$d' <<<"$output" | grep -c 'gggggg')" -eq 2 ]
	# At one site.
	sed -n '/OTHERS REPLACE/,$p' <<<"$output" | grep -q 'gggggg'
	# The one replaces the other, and takes 25 % more.
	run -5 "$rtl" diff --threshold kernel=20 a.db b.db
	run -0 "$rtl" diff --threshold kernel=50 a.db b.db
}

@test "a threshold is passed by more than it, not by it" {
	local period gemm
	fixture a
	for period in 1010 1070 1290; do
		rm -f b.db
		fixture b period=$period
		run -0 "$rtl" diff --threshold $((period / 10 - 100)) a.db b.db
		run -5 "$rtl" diff --threshold "$((period / 10 - 101)).99" a.db b.db
	done
	for gemm in 404 428 500; do
		rm -f b.db
		fixture b gemm=$gemm
		run -0 "$rtl" diff --threshold kernel=$((gemm / 4 - 100)) a.db b.db
		run -5 "$rtl" diff --threshold kernel=$((gemm / 4 - 101)).99 a.db b.db
	done
	# A new kernel counts from 1 % of the 600 us on that the reference's kernels take of a step.
	rm b.db
	fixture b extra=5
	run -0 "$rtl" diff --threshold kernel=50 a.db b.db
	rm b.db
	fixture b extra=6
	run -5 "$rtl" diff --threshold kernel=50 a.db b.db
	# Nor by what is not clear: steps that alternate by 20 us explain 11.547.
	fixture c wobble=20
	rm b.db
	fixture b period=1021
	run -0 "$rtl" diff --threshold 1 c.db b.db
	rm b.db
	fixture b period=1022
	run -5 "$rtl" diff --threshold 1 c.db b.db
}

@test "diff of two runs names the straggler's rank as the one that changed" {
	export SOFTGPU_COUNT=4 SOFTGPU_SCRIPT="$here/../workload/softgpu.script"
	$rtl run -o a.db --device soft -- "$demo" --ranks 4 --gpus 4 --steps 8 >out 2>err
	$rtl run -o b.db --device soft -- "$demo" --ranks 4 --gpus 4 --steps 8 --straggler 2 >out 2>err
	equals "$(columns a.db b.db -- ranks rank delta_computation_ns | sort -t'|' -k2n | tail -1 | cut -d'|' -f1)" 2
	# Its step and no other's has more to compute, by what the device says.
	for db in a b; do
		sql $db.db "SELECT sum(\"end\" - start) FROM rocpd_op o JOIN rtl_kernel k ON k.id = o.description_id
			WHERE k.category = 'gemm'"
	done >sums
	equals "$("$rtl" diff --json a.db b.db --top 0 | jq '[.comparisons[0].kernels[] | select(.name | startswith("Cijk_"))
		| .candidate_total_ns - .reference_total_ns] | add')" "$(awk 'NR == 1 {a = $1} NR == 2 {print $1 - a}' sums)"
}

@test "rtl diff refuses bad options with one line" {
	fixture a
	run -2 --separate-stderr "$rtl" diff a.db
	equals "$stderr" "rtl: diff: needs two FILEs or SESSIONs, or more"
	run -2 --separate-stderr "$rtl" diff --allow spelling a.db a.db
	equals "$stderr" "rtl: diff: --allow spelling: not ranks, coverage, steps, modes, losses, device, categories, kernels or all"
	run -2 --separate-stderr "$rtl" diff --threshold lots a.db a.db
	equals "$stderr" "rtl: diff: --threshold lots: not a number of per cent"
	run -1 --separate-stderr "$rtl" diff a.db absent.db
	[ "$(wc -l <<<"$stderr")" -eq 1 ]
	echo foreign >foreign.db
	run -1 --separate-stderr "$rtl" diff a.db foreign.db
	[ "$(wc -l <<<"$stderr")" -eq 1 ]
}

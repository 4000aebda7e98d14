#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Why a job is slow: what is planted is what rtl run and rtl summary end with. Device times are the
# software GPU's, which runs ahead of the wall clock: kernels ten times as long keep it busy on any
# machine, and what the host does late is late whatever else runs.
load lib.bash
bats_require_minimum_version 1.5.0

fixture() { # fixture KIND [SCRIPT]
	python3 "$here/${2:-fixture.py}" "$1" "$here/../../collectord/db/schema" "$1.db"
}

long_kernels() {
	awk '/^kernel .* duration=/ {n = $0; sub(/.*duration=/, "", n); sub(/[0-9]+$/, n * 10)} {print}' \
		"$SOFTGPU_SCRIPT" >long.script
	grep -q 'duration=1823400$' long.script
	export SOFTGPU_SCRIPT=$PWD/long.script
}

# planted CODE RUN-OPTION... -- DEMO-OPTION...: both end with it; the sentence is in $sentence.
planted() {
	local code=$1 options=()
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	$rtl run -o t.db --device soft "${options[@]}" -- "$demo" "${@:2}" >out 2>err
	tail -n 2 err
	[[ $(tail -n 1 err) == "SIMULATED complete: "* ]]
	sentence=$(tail -n 2 err | head -n 1)
	[[ $sentence == "rtl: SIMULATED reason: "* ]]
	sentence=${sentence#rtl: }
	[ "$("$rtl" summary t.db | tail -n 1)" = "$sentence" ]
	[ "$("$rtl" summary t.db | head -n 1)" = "$(tail -n 1 err)" ]
	[ "$("$rtl" summary --json t.db | jq -r '.reason.code')" = "$code" ]
}

says() { # says REGEX
	grep -Eq "^SIMULATED reason: $1" <<<"$sentence" || {
		echo "not $1: $sentence"
		return 1
	}
}

@test "planted: one rank computes slowly" {
	long_kernels
	# As on real GPUs no rank leaves a collective before the last one came.
	export SOFTGPU_FAULT='kernel *ncclDevKernel_* meet=ranks'
	planted slow_rank -- --ranks 3 --steps 6 --cause slow-rank
	# Its GEMMs take longer, its other kernels do not: that is no slow GPU.
	says "Rank 1 is waited for, which costs [0-9]+ % of the step: more work, it computes 1\.[0-9]+x as long as rank "
	[ "$("$rtl" summary --csv=reason t.db | tail -n 1 | cut -d, -f1)" = slow_rank ]
	[ "$("$rtl" summary --json t.db | jq -c '[.reason.rank, .reason.gpuId]')" = '[1,1]' ]
}

@test "planted: the host is late" {
	planted late_host -- --ranks 1 --steps 8 --cause late-host
	says 'GPU 0 idles [4-9][0-9] %: the host submits late; rtl run --mode hip records what it does meanwhile$'
}

@test "planted: one rank's host is late, and two are in turn" {
	local since='(, since step [0-9]+ \([0-9.]+x\))?'
	export SOFTGPU_FAULT='kernel *ncclDevKernel_* meet=ranks'
	planted late_rank -- --ranks 3 --steps 13 --cause late-rank --buckets 2
	# A machine that is busy from some step on makes the later ones longer.
	says "Rank 1 is waited for, which costs [0-9]+ % of the step$since: its host submits late "
	"$rtl" summary --json t.db | jq -e '.reason.straggler | .ranks == [1] and .cause == "host" and .cost_pct > 20'
	rm t.db
	planted late_rank -- --ranks 5 --steps 17 --cause late-in-turn
	says "Ranks 1 and 2 are in turn waited for, which costs [0-9]+ % of the step$since: their hosts submit late "
}

# bats test_tags=apart
@test "planted: a rank saves a checkpoint" {
	export SOFTGPU_FAULT='kernel *ncclDevKernel_* meet=ranks'
	planted event -- --ranks 2 --steps 12 --cause checkpoint
	says "(step 6 takes|[2-9] steps take up to) [0-9.]+ m?s \\(the median is [0-9.]+ ms\\), [0-9]+ % of the time: (in step 6 )?rank 0 idles, its host submits nothing"
}

# bats test_tags=apart
@test "planted: all ranks compile in the first steps, and one slows down later" {
	export SOFTGPU_FAULT='kernel *ncclDevKernel_* meet=ranks'
	planted event -- --ranks 2 --steps 20 --cause compile
	says "[23] steps take up to [0-9.]+ m?s \\(the median is [0-9.]+ ms\\), [0-9]+ % of the time: in step [0-2] all GPUs idle, their hosts submit nothing"
	[ "$("$rtl" summary --json t.db | jq -c .reason.rank)" = null ]
	rm t.db
	long_kernels
	planted slow_rank -- --ranks 3 --steps 20 --cause slows-down
	# From then on it launches other kernels than the others, and that is no kind of step of its own.
	says "Rank 1 is waited for, which costs [0-9]+ % of the step, since step 10 \\(1\.[0-9]+x\\): more work, it computes 1\.[0-9]+x as long as rank "
}

@test "planted: communication is exposed" {
	long_kernels
	planted exposed_comm -- --ranks 2 --steps 6 --cause exposed-comm
	says 'communication is 5[0-9] % of the step, (100|9[0-9]) % of it exposed'
}

@test "planted: copies are slow; without their times the kernels are held back" {
	planted slow_copies --mode full -- --ranks 1 --steps 6 --cause slow-copies
	says 'copies are [89][0-9] % of the step, (100|[89][0-9]) % of it exposed \(most of them h2d, at 0\.001 GB/s\); rtl summary lists them; pinned memory'
	rm t.db
	planted held_back -- --ranks 1 --steps 6 --cause slow-copies
	says 'GPU 0 idles [89][0-9] %: kernels are submitted and held back; perhaps by copies, of which [0-9]+ have no times: rtl run --mode full$'
}

@test "planted: a job without a cause has no single cause" {
	long_kernels
	planted none -- --ranks 2 --steps 6 --cause none
	says 'no single cause: computation is 9[0-9] % of the step \([67][0-9] % of it GEMMs\), exposed communication [0-9] %'
	says '.*; [0-9]+ copies have no times \(rtl run --mode full\)$'
}

# bats test_tags=apart
@test "a rank that may lie in the slack of all hosts is not accused" {
	fixture late fixture_ranks.py
	[[ $("$rtl" summary late.db | tail -n 1) == "SIMULATED reason: GPUs idle 73 %: the host submits late"* ]]
	[ "$("$rtl" summary --json late.db | jq -c '.reason | [.code, .rank, .straggler]')" = '["late_host",null,null]' ]
	# The others wait for it inside of the collective.
	"$rtl" summary --json late.db | jq -e '.reason | .all.exposed_comm_pct > 10 and .waiting.wait_pct > 6'
	fixture many fixture_ranks.py
	run -0 "$rtl" summary many.db
	[[ ${lines[-1]} == "SIMULATED reason: "* ]]
}

@test "a communicator that a rank meets in groups alone has its own number of operations" {
	fixture mixed fixture_ranks.py
	run -0 "$rtl" summary mixed.db
	[[ ${lines[-1]} == "SIMULATED reason: "* ]]
}

@test "the tables of a damaged file are there without the reason" {
	fixture clean
	"$rtl" summary --csv clean.db >kernels
	sqlite3 clean.db "DROP TABLE rtl_marker_base"
	run -0 "$rtl" summary clean.db
	[ "${lines[-1]}" = "reason: unknown (clean.db: no such table: main.rtl_marker_base)" ]
	"$rtl" summary --csv clean.db | diff kernels -
	run -0 "$rtl" summary --json clean.db
	[ "$(jq -c 'has("reason"), .reason' <<<"$output" | tr '\n' ' ')" = "true null " ]
	# What the user named and cannot be read is no damage.
	run -1 --separate-stderr "$rtl" summary --categories missing clean.db
	[ "${#stderr_lines[@]}" -eq 1 ]
}

# bats test_tags=apart
@test "of a large file the middle is looked at, and that is said" {
	python3 - "$here/../bench" big.db <<-'PY'
	import pathlib, sys
	sys.path.insert(0, sys.argv[1])
	from figures import questions as ask
	db = ask.open_db(pathlib.Path(sys.argv[1]).resolve().parents[1] / "collectord" / "db" / "schema", sys.argv[2])
	ask.make(db, 80000, True)
	PY
	run -0 "$rtl" summary big.db
	[[ ${lines[-1]} == "SIMULATED reason: GPUs idle "*" [524,288 of 640,000 kernels looked at]" ]]
	"$rtl" summary --json big.db >big.json
	jq '.reason.all.idle_pct' big.json >part
	"$rtl" timeline --json big.db | jq '.total | .idle_time_ns / .total_time_ns * 100' >whole
	awk '{v[NR] = $1} END {d = v[1] - v[2]; exit !(d < 1 && d > -1)}' part whole
	# Of collectives, too.
	jq -e '.reason.waiting.wait_pct > 0' big.json
	# The part is forgotten: all of the file is in the tables.
	[ "$(jq '[.kernels[].calls] | add' big.json)" = 640000 ]
}

@test "reasons without a kernel, of one kernel, without times, of a live job, of names with control characters" {
	fixture none fixture_ranks.py
	[ "$("$rtl" summary none.db | tail -n 1)" = "SIMULATED reason: no kernel was dispatched, so far; rtl doctor and rtl diagnose say why" ] ||
		[ "$("$rtl" summary none.db | tail -n 1)" = "SIMULATED reason: no kernel was dispatched; rtl doctor and rtl diagnose say why" ]
	fixture one fixture_ranks.py
	[ "$("$rtl" summary one.db | tail -n 1)" = "SIMULATED reason: no single cause: 1 kernel is too few to tell; rtl summary lists them" ]
	fixture clean
	cp clean.db untimed.db
	sqlite3 untimed.db "UPDATE rtl_dispatch SET submit = start, start = NULL, duration = NULL, untimed = 1;
		UPDATE rtl_queue SET untimed = stored"
	run -0 "$rtl" summary untimed.db
	[ "${lines[-1]}" = "SIMULATED reason: no single cause: no kernel has a time; rtl run --mode standard records times" ]
	run -0 "$rtl" summary --json untimed.db
	[ "$(jq -c '[.reason.code, .kernels[0].p50_ns, .kernels[0].max_ns]' <<<"$output")" = '["untimed",null,null]' ]
	fixture live
	run -0 "$rtl" summary live.db
	[[ ${lines[-1]} == "SIMULATED reason: "*", so far"* ]]
	fixture names fixture_ranks.py
	fixture late fixture_ranks.py
	fixture hostile
	printf 'b\x1b[31mad *\n' >rules
	for file in names.db hostile.db; do
		for format in "" --json --csv=reason "--by rank" "--by marker --csv=groups"; do
			# shellcheck disable=SC2086 # words
			run -0 "$rtl" summary $format $file
			not grep -q $'\x1b' <<<"$output"
		done
	done
	sqlite3 clean.db "UPDATE rtl_category SET category = 'a' || char(27) || '[31m' WHERE category = 'gemm'"
	run -0 "$rtl" summary --by category clean.db
	not grep -q $'\x1b' <<<"$output"
}

@test "planted: a rank dies of a fault of its own" {
	# The others are at work for as long as its collector needs to see it die.
	"$rtl" run -o t.db --device soft -- "$demo" --ranks 3 --steps 6 --fault-rank 1 --exit-mode abort >out 2>err || :
	run -0 "$rtl" summary --json t.db
	[ "$(jq -r '.reason.code' <<<"$output")" = died ]
	[ "$(jq -r '.reason.rank' <<<"$output")" = 1 ]
	[[ $(jq -r '.reason.text' <<<"$output") == "Rank 1 died (SIGABRT)"* ]]
	grep -q "^rtl: SIMULATED reason: Rank 1 died (SIGABRT)" err
}

#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Where the time goes, of real runs and of files that are not as they should be.
load lib.bash
bats_require_minimum_version 1.5.0

fixture() { # fixture KIND [FILE]
	python3 "$here/fixture.py" "$1" "$here/../../collectord/db/schema" "${2:-$1.db}"
}

@test "every figure of every step is the device's" {
	local csv
	$rtl run -o t.db --mode full --device soft -- "$demo" --ranks 4 --steps 8 --straggler 2 >out 2>err
	csv=$(truth_csv)
	run -0 "$rtl" timeline --json t.db
	echo "$output" >t.json
	# shellcheck disable=SC2086 # a list of files
	run -0 python3 "$here/compare_timeline.py" t.db t.json 119 $csv
	grep -Eq "^32 steps, [1-9][0-9]* copies$" <<<"$output"
	# Each rank's steps are its run, with what lies outside.
	[ "$(jq '[.rows[] | .kernels] | add' t.json)" = "$(sql t.db 'SELECT count(*) FROM rocpd_op')" ]
	jq -e '[.ranks[].total_time_ns] == ([.rows[] | select(.step != null)] | group_by(.rank) | map(map(.total_time_ns) | add))' t.json
	# In the steps that it does not begin late, the slow rank computes longest.
	jq -e '[.rows[] | select(.step == 7)] | max_by(.computation_time_ns) | .rank == 2' t.json
}

@test "the share of copies is unknown, not 0, where copies have no times" {
	copy_shares() { "$rtl" timeline "$1" | awk '/COPY %/ {at = index($0, "COPY %") + 5; next} !NF {at = 0} at {v = substr($0, 1, at); sub(/.* /, "", v); print v}' | sort -u; }
	python3 "$here/fixture_ranks.py" late "$here/../../collectord/db/schema" late.db
	[ "$(copy_shares late.db)" = 0.0 ]
	sqlite3 late.db "INSERT INTO rtl_copy_base VALUES (1, 1, 7, 5000000000, 4096, 'async', 'h2d', NULL, 0, NULL, NULL, NULL, NULL, NULL)"
	run -0 "$rtl" timeline late.db
	[[ $output == *"1 copies have no times"* ]]
	[ "$(copy_shares late.db)" = - ]
}

@test "without markers the steps are found by their kernels" {
	$rtl run -o t.db --device soft -- "$demo" --ranks 2 --steps 12 >out 2>err
	cp t.db plain.db
	sqlite3 plain.db 'DELETE FROM rtl_marker_base'
	run -0 "$rtl" timeline --json plain.db
	[ "$(jq -c '[.steps.source, .steps.confidence > 0.95, .steps.count]' <<<"$output")" = '["inferred",true,24]' ]
	# All but the last, which goes to the end of the run, have what a step has.
	[ "$(jq -c '[.rows[] | select(.step != null and .step < 11) | .kernels] | unique' <<<"$output")" = '[119]' ]
	run -0 "$rtl" timeline plain.db
	grep -q '^steps: inferred (confidence [01]\.[0-9]*): kernels repeat every' <<<"$output"
}

@test "the text of rtl timeline fits 100 columns and ends with a conclusion" {
	$rtl run -o t.db --device soft -- "$demo" --ranks 4 --steps 8 >out 2>err
	run -0 "$rtl" timeline t.db
	grep -q '^SIMULATED complete: ' <<<"${lines[0]}"
	[ "$(awk 'NF && !/^GPUs idle|^communication is|^computation is/ {if (length($0) > 100) print}' <<<"$output" | wc -l)" -eq 0 ]
	grep -Eq '^(GPUs idle|communication is|computation is) ' <<<"${lines[-1]}"
	grep -Eq '^LONGEST STEPS \(SIMULATED\): [0-9]+ of 3[2-6](, equal ones in one row)?; --top 0 shows all$' <<<"$output"
	[ "$(sed -n '/^LONGEST STEPS/,/^$/p' <<<"$output" | grep -c '^ *[0-9]')" -eq 5 ]
	run -0 "$rtl" timeline --top 0 t.db
	grep -q '^STEPS (SIMULATED)$' <<<"$output"
	run -0 "$rtl" timeline --ranks 2 --step 3 t.db
	[ "$(grep -c '^ *2 ' <<<"$output")" -eq 2 ]
	run -1 "$rtl" timeline --ranks 99 --step 3 t.db
	[ "$output" = "rtl: t.db: no rank 99, it has ranks 0-3; choose from these, or leave out --ranks" ]
}

@test "kinds of steps have their share of the time" {
	$rtl run -o t.db --device soft -- "$demo" --ranks 2 --steps 6 >out 2>err
	run -0 "$rtl" timeline --by kind t.db
	grep -q '^KINDS OF STEPS (SIMULATED)$' <<<"$output"
	grep -Eq '^A +step +1[0-2] .* 100.0 ' <<<"$output"
	run ! grep -q '^LONGEST STEPS' <<<"$output"
	run -0 "$rtl" timeline --by kind --csv t.db
	[[ ${lines[0]} == kind,name,rows,* && ${lines[1]} == A,step,1[0-2],* ]]
	run -2 --separate-stderr "$rtl" timeline --by colour t.db
}

@test "csv has a row a rank, GPU and step; segments are AORTA's" {
	$rtl run -o t.db --device soft -- "$demo" --ranks 2 --steps 3 >out 2>err
	"$rtl" timeline --csv t.db >t.csv
	python3 - t.csv <<-'PY'
	import csv, sys
	rows = [r for r in csv.DictReader(open(sys.argv[1])) if r["step"]]
	assert len(rows) == 6, rows
	for r in rows:
	    assert r["exposed_memcpy_time_ns"] == "", r  # this mode does not time copies
	    parts = sum(int(r[k]) for k in ("computation_time_ns", "exposed_comm_time_ns",
	        "micro_idle_time_ns", "macro_idle_time_ns"))
	    assert parts == int(r["total_time_ns"]) == int(r["end_ns"]) - int(r["start_ns"]), r
	PY
	run -0 "$rtl" timeline --json --segments --ranks 0 --step 1 t.db
	jq -e '.rows | length == 1' <<<"$output"
	jq -e '.rows[0] | (.active_segments | length) == .active_segment_count' <<<"$output"
	jq -e '.rows[0] | ([.active_segments[] | select(.active_streams | index("compute")) | .end_ms - .start_ms] | add)
		- .per_stream_ms.compute | fabs < 1e-6' <<<"$output"
	run -2 --separate-stderr "$rtl" timeline --segments t.db
	[ "$stderr" = "rtl: timeline: --segments is a part of --json" ]
}

@test "timeline names what an incomplete file lacks" {
	fixture clean
	fixture lossy
	fixture live
	fixture hostile
	run -0 "$rtl" timeline lossy.db
	grep -q '^1 kernels have no times' <<<"$output"
	grep -q '^kernels are missing' <<<"$output"
	run -3 --separate-stderr "$rtl" timeline --strict lossy.db
	run -0 "$rtl" timeline live.db
	grep -q '^the session is open' <<<"$output"
	run -0 "$rtl" timeline --json live.db
	[ "$(jq -c '[.schema, .live, .complete]' <<<"$output")" = '[1,true,false]' ]
	sqlite3 hostile.db "INSERT INTO rtl_marker_base SELECT 1, id, NULL, 7, 'push', id, 5000000000, 5100000000
		FROM rocpd_string WHERE string GLOB '*red*'"
	for format in '' --json --csv; do
		# shellcheck disable=SC2086 # no word or one
		run -0 "$rtl" timeline $format --steps red hostile.db
		not grep -q $'\x1b' <<<"$output"
	done
	run -0 "$rtl" timeline --json --steps red hostile.db
	[ "$(jq -r '.rows[0].text' <<<"$output" | head -c 4)" = $'\x1b[31' ]
}

# bats test_tags=apart
@test "times at the ends of what a number holds are wrong, and nothing worse" {
	fixture clean
	for times in "submit = -9223372036854775807 - 1" "start = 9223372036854775000" \
		"start = -9223372036854775000" "duration = -9223372036854775000"; do
		cp clean.db odd.db
		sqlite3 odd.db "UPDATE rtl_dispatch SET $times WHERE rowid % 100 = 7"
		for what in "" --json "--json --segments"; do
			# shellcheck disable=SC2086 # words
			run --separate-stderr timeout 300 "$rtl" timeline $what odd.db
			[[ $status -eq 0 || ($status -eq 1 && ${#stderr_lines[@]} -eq 1 && $stderr == "rtl: "*) ]]
		done
	done
}

@test "timeline of no kernels is empty; missing files, bad patterns and rules get one line" {
	$rtl run -o none.db --device soft -- "$demo" --ranks 1 --init-only
	run -0 "$rtl" timeline none.db
	grep -q '^no kernels: nothing was dispatched$' <<<"$output"
	run -0 "$rtl" timeline --json none.db
	[ "$(jq -c '[.schema, .rows, .ranks]' <<<"$output")" = '[1,[],[]]' ]
	run -0 "$rtl" timeline --csv none.db
	[ "${#lines[@]}" -eq 1 ]
	fixture clean
	for steps in '(' '(a|)+(a|){2,9}' '(.)\1'; do
		run -1 --separate-stderr "$rtl" timeline --steps "$steps" clean.db
		[ "${#stderr_lines[@]}" -eq 1 ]
		grep -qF "rtl: --steps $steps: " <<<"$stderr"
		[[ $stderr != *'no roctx range'* ]]
	done
	run -1 --separate-stderr "$rtl" timeline --steps no-such-range clean.db
	grep -q 'no roctx range or mark matches' <<<"$stderr"
	run -1 --separate-stderr "$rtl" timeline missing.db
	printf 'gemm\n' >rules
	run -1 --separate-stderr "$rtl" timeline --categories rules clean.db
	[ "$stderr" = "rtl: rules:1: no pattern behind the category" ]
	printf 'communication/allreduce gemm\n' >rules
	run -0 --separate-stderr env RTL_CATEGORIES=rules "$rtl" timeline --json clean.db
	jq -e '.total.per_stream_ms.allreduce > 0' <<<"$output"
}

@test "summary --by category sums what the kernels are" {
	fixture clean
	run -0 "$rtl" summary --by category clean.db
	grep -q '^CATEGORIES (SIMULATED)$' <<<"$output"
	not grep -q '^TOP KERNELS' <<<"$output"
	run -0 "$rtl" summary --json clean.db
	[ "$(jq -c '[.categories[] | [.category, .kernels]] | sort' <<<"$output")" = \
		'[["communication",1],["elementwise",1],["gemm",1]]' ]
	jq -e '([.categories[].total_ns] | add) == ([.kernels[].total_ns] | add)
		and ([.categories[].calls] | add) == .stored' <<<"$output"
	printf 'mine *\n' >rules
	run -0 "$rtl" summary --csv=categories --categories rules clean.db
	[ "${#lines[@]}" -eq 2 ]
	grep -q ',mine,' <<<"${lines[1]}"
	run -2 --separate-stderr "$rtl" summary --by colour clean.db
	[ "$stderr" = "rtl: summary: --by=colour: not rank, gpu, queue, marker or category" ]
	run -1 --separate-stderr "$rtl" summary --categories nowhere clean.db
	[ "${#stderr_lines[@]}" -eq 1 ]
	run -1 --separate-stderr "$rtl" summary --categories . clean.db
	[ "$stderr" = "rtl: rules of categories: .: Is a directory" ]
	run -1 --separate-stderr timeout 60 "$rtl" summary --categories /dev/zero clean.db
	[ "$stderr" = "rtl: rules of categories: /dev/zero: longer than 1024 KiB" ]
	printf 'mine *\n#\0\n' >rules
	run -1 --separate-stderr "$rtl" summary --categories rules clean.db
	[ "$stderr" = "rtl: rules:2: not a text" ]
	run -0 "$rtl" summary --csv=categories --categories <(printf '\nmine *') clean.db
	grep -q ',mine,' <<<"${lines[1]}"
}

@test "rules given to rtl run are stored, and every reader has them" {
	printf 'mine  rms_norm\ncommunication/allreduce  CIJK*\n' >rules
	run -0 --separate-stderr "$rtl" run -q -o t.db --categories rules --device soft -- "$demo" --ranks 2 --steps 2
	rm rules
	[ "$(sql t.db "SELECT position, category, collective, pattern FROM rtl_category WHERE origin = 'user' ORDER BY 1")" = \
		$'-2|mine||*rms_norm*\n-1|communication|allreduce|cijk*' ]
	[ "$(sql t.db "SELECT DISTINCT category FROM rtl_kernel WHERE symbol GLOB 'Cijk*'")" = communication ]
	run -0 "$rtl" summary --json t.db
	jq -e '[.categories[].category] | index("mine") and (index("gemm") | not)' <<<"$output"
	run -0 "$rtl" timeline --json t.db
	jq -e '.total.per_stream_ms.allreduce > 10' <<<"$output"
	printf 'gemm\n' >bad
	run -125 --separate-stderr env RTL_CATEGORIES=bad "$rtl" run -o u.db -- true
	[ "$stderr" = "rtl: run: bad:1: no pattern behind the category" ]
	run -125 --separate-stderr "$rtl" run -o u.db --categories nowhere -- true
	[ ! -e u.db ]
}

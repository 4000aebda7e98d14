#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What rtl summary says of kernels, against the same worked out from the view of dispatches.
load lib.bash
bats_require_minimum_version 1.5.0

fixture() { # fixture KIND [SCRIPT]
	python3 "$here/${2:-fixture.py}" "$1" "$here/../../collectord/db/schema" "$1.db"
}

compare() { # compare FILE ROWS
	run -0 python3 "$here/compare_summary.py" "$rtl" "$1"
	[ "$output" = "$2 rows" ]
}

@test "sums and percentiles, overall and by rank, GPU, queue, range and category" {
	fixture clean
	compare clean.db 24
	# Two processes on one GPU, out of order.
	fixture shared
	compare shared.db 7
	# Untimed kernels count, and are in no time.
	fixture lossy
	compare lossy.db 24
	fixture hostile
	compare hostile.db 56
	# Kernels of 4.3 s and more, of no time at all, and one of a damaged file's.
	fixture uneven
	sqlite3 uneven.db "UPDATE rtl_dispatch SET duration = CASE rowid % 5 WHEN 0 THEN 0 WHEN 1 THEN 4294967295
		WHEN 2 THEN 4294967296 WHEN 3 THEN 5000000000 + rowid ELSE duration + rowid % 7 END"
	compare uneven.db 14
	# A real run: ranges by their texts, steps as one.
	$rtl run -q -o t.db --device soft -- "$demo" --ranks 2 --steps 3
	python3 "$here/compare_summary.py" "$rtl" t.db
	run -0 "$rtl" summary --by marker --csv=groups --steps '^(back|for)' t.db
	[ "$(cut -d, -f1 <<<"$output" | tr -d '"' | LC_ALL=C sort -u | tr '\n' ' ')" = "(no range) backward forward group optimizer " ]
}

@test "summary --by prints each group with its first kernels" {
	fixture clean
	run -0 "$rtl" summary --by rank clean.db
	grep -q '^KERNELS BY RANK (SIMULATED)$' <<<"$output"
	[ "$(grep -c ' rank [01]$' <<<"$output")" -eq 2 ]
	[ "$(grep -c '   *gemm_f16(float\*)$' <<<"$output")" -eq 2 ]
	run -0 "$rtl" summary --by queue --top 1 clean.db
	[ "$(grep -c ' rank [01] queue 0$' <<<"$output")" -eq 2 ]
	grep -q '^1 kernels of each; --top 0 shows all$' <<<"$output"
	run -0 "$rtl" summary clean.db
	grep -q 'P50 us *P95 us *P99 us' <<<"$output"
	for words in "--by" "--by colour" "--csv=groups" "--steps x" "--by marker --steps ("; do
		# shellcheck disable=SC2086 # words
		run -2 --separate-stderr "$rtl" summary $words clean.db
		[ "${#stderr_lines[@]}" -eq 1 ]
	done
}

@test "a choice of ranks, kernels and kinds of work counts those dispatches alone, in the order that is asked for" {
	fixture clean
	fixture lossy
	local db all some
	for db in clean.db lossy.db; do
		all=$("$rtl" summary --json "$db" 2>/dev/null)
		# Of each rank what SQL says, and shares of all.
		some=$("$rtl" summary --json --rank 1 "$db" 2>/dev/null | jq -c '[.kernels[] | [.name, .calls, .total_ns]]')
		[ "$some" = "$(sqlite3 -json -readonly "$db" "SELECT k.name, count(*) AS calls, sum(o.\"end\" - o.start) AS total
			FROM rocpd_op o JOIN rtl_kernel k ON k.id = o.description_id WHERE o.rank = 1 GROUP BY 1
			ORDER BY coalesce(total, 0) DESC, 1" | jq -c '[.[] | [.name, .calls, .total]]')" ]
		run -0 --separate-stderr "$rtl" summary --json -r 1 "$db"
		[ "$(jq -c '[.ranks[].rank] | unique' <<<"$output")" = '[1]' ]
		[ "$(jq '.dispatched' <<<"$output")" = "$(jq '.dispatched' <<<"$all")" ]
		[ "$(jq -c '.losses' <<<"$output")" = "$(jq -c '.losses' <<<"$all")" ]
	done
	# By name or symbol, and by kind of work: rows of the whole table.
	all=$("$rtl" summary --json clean.db 2>/dev/null | jq -c '.kernels')
	[ "$("$rtl" summary --json --kernels '^gemm' clean.db 2>/dev/null | jq -c '.kernels')" = \
		"$(jq -c '[.[] | select((.name | test("^gemm")) or (.symbol | test("^gemm")))]' <<<"$all")" ]
	[ "$("$rtl" summary --csv=groups --by category --category gemm --top 0 clean.db 2>/dev/null)" = \
		"$("$rtl" summary --csv=groups --by category --top 0 clean.db 2>/dev/null | grep -E '^(group|"?gemm)')" ]
	local by
	for by in calls avg max; do
		[ "$("$rtl" summary --json --sort $by clean.db 2>/dev/null | jq -c '.kernels')" = \
			"$(jq -c "sort_by([-(.$by // .${by}_ns), .name])" <<<"$all")" ]
	done
	[ "$("$rtl" summary --json --sort name clean.db 2>/dev/null | jq -c '.kernels')" = "$(jq -c 'sort_by(.name)' <<<"$all")" ]
	# The text has no table of what was not chosen among.
	run -0 --separate-stderr "$rtl" summary --ranks 0 clean.db
	[ "$(grep -cE '^(TOP KERNELS|RANKS)' <<<"$output")" -eq 2 ]
	[ "$(grep -cE '^(GPUS|COPIES|HOST CALLS|LOSSES|METRICS|COLLECTIVES|SIMULATED reason|reason)' <<<"$output")" -eq 0 ]
	# What leaves nothing is said, and nothing is shown.
	for words in "--kernels nothing_like_it" "--category none" "--category none --json" "--category none --by rank"; do
		# shellcheck disable=SC2086 # words
		run -1 --separate-stderr "$rtl" summary $words clean.db
		[ -z "$output" ]
		[[ $stderr == "rtl: no kernel here is of --${words:2:5}"*"; rtl summary "*" shows what there is" ]]
		[[ $words != --category* || $stderr == *"; rtl summary --by category shows what there is" ]]
	done
	for words in "--ranks x" "--kernels (" "--sort size"; do
		# shellcheck disable=SC2086 # words
		run -2 --separate-stderr "$rtl" summary $words clean.db
		[ "${#stderr_lines[@]}" -eq 1 ]
	done
}

@test "diagnose: which kernels a rank lacks, and which it alone has" {
	$rtl run -q -o t.db --device soft -- "$demo" --ranks 3 --steps 2 --straggler 1
	run -0 "$rtl" diagnose --strict --json t.db
	[ "$(jq -c '[.findings[] | select(.of_kernels) | [.level, .rank]]' <<<"$output")" = '[["MISSING",1],["NOTE",1]]' ]
	jq -e '.findings | map(select(.of_kernels)) | (.[0].text | test("^has none of what all other ranks have: Cijk_.*MT128x128x16.*, Cijk_.*, Cijk_"))
		and (.[1].text | test("^is the only one with: 34 x Cijk_.*MT32x32x16"))' <<<"$output"
	[ "$(jq -c '[.processes[] | [.rank, .kernels, .gpus, .state]]' <<<"$output")" = \
		'[[0,239,"0","exited 0"],[1,239,"1","exited 0"],[2,239,"2","exited 0"]]' ]
	# Half of one kernel of rank 2 is gone; the count of all says nothing of it.
	sqlite3 t.db "DELETE FROM rtl_dispatch WHERE rowid IN (SELECT o.id FROM rocpd_op o JOIN rtl_kernel k
		ON k.id = o.description_id WHERE k.name GLOB '*rms_norm*' AND o.rank = 2 LIMIT 12)"
	run -0 "$rtl" diagnose t.db
	grep -Eq '^LOW +2 .* less than half of what the rank in the middle has: 6 of 18 x void vllm::rms_norm' <<<"$output"
	# Of two ranks each is measured by the other.
	fixture clean
	sqlite3 clean.db "UPDATE rtl_dispatch SET shape_id = 4 WHERE shape_id = 5 AND seq >= 300"
	run -0 "$rtl" diagnose --json clean.db
	[ "$(jq -c '[.findings[] | [.level, .rank, .text]]' <<<"$output")" = \
		'[["LOW",1,"less than half of what the other rank has: 100 of 333 x elementwise_add"]]' ]
	sqlite3 clean.db "UPDATE rtl_dispatch SET shape_id = 4 WHERE shape_id = 5"
	run -0 "$rtl" diagnose --json clean.db
	[[ $(jq -r '.findings[] | .level + .text' <<<"$output") == "MISSINGhas none of what the other rank has: elementwise_add"* ]]
	fixture uneven
	run -0 "$rtl" diagnose uneven.db
	grep -Fq "400 kernels, 40 % of the rank with most (1000); state: exited 0; its last kernel ended 6.0 ms before the others'" <<<"$output"
	sqlite3 uneven.db "UPDATE rtl_process SET world_size = 16"
	run -0 "$rtl" diagnose uneven.db
	grep -q '5 of 16 ranks are in here; the others are on other nodes, or never said hello' <<<"$output"
}

@test "diagnose: a rank that waits for a slow one is as busy as it is, and works less" {
	python3 "$here/fixture_ranks.py" late "$here/../../collectord/db/schema" late.db
	run -0 "$rtl" diagnose --json late.db
	# 12 steps of 250 us; of them 100 us are work, 190 on rank 2.
	[ "$(jq -c '[.processes[] | [.rank, .busy_ns, .work_ns]]' <<<"$output")" = \
		'[[0,3000000,1200000],[1,3000000,1200000],[2,3000000,2280000],[3,3000000,1200000]]' ]
	[ "$(jq -r '.findings[] | "\(.rank) \(.text)"' <<<"$output")" = \
		"2 straggler? its GPU worked 90 % longer than that of the rank in the middle (communication not counted)" ]
}

job() { # job NAME [KEY=VALUE...]
	python3 "$here/fixture_diff.py" "$here/../../collectord/db/schema" "$1.db" "${@:2}"
}

@test "diagnose: a rank is one process: preflights, children and failed attempts are shown, not judged" {
	local helper
	for helper in preflight child attempt; do
		job $helper ranks=3 helper=$helper slow=80 slow_rank=1
		run -0 "$rtl" diagnose --strict --json $helper.db
		[ "$(jq -r '.findings[] | "\(.rank) \(.process_id) \(.text)"' <<<"$output")" = \
			"1 2 straggler? its GPU worked 20 % longer than that of the rank in the middle (communication not counted)" ]
		[ "$(jq -c '[.processes[] | [.rank, .process_id, .leads]] | sort' <<<"$output")" = \
			'[[0,1,true],[0,23,false],[1,2,true],[1,24,false],[2,3,true],[2,25,false]]' ]
		run -0 "$rtl" diagnose $helper.db
		grep -q '^3 processes do not lead their rank: shown, not judged$' <<<"$output"
	done
}

# bats test_tags=apart
@test "diagnose: alike is within 5 %, in kernels and in work, longer and shorter" {
	local slow
	for slow in 19 -19; do
		rm -f job.db
		job job ranks=3 slow=$slow slow_rank=1
		run -0 "$rtl" diagnose --json job.db
		jq -e '.findings == []' <<<"$output"
	done
	[ "$(jq -r .alike_pct <<<"$output")" = 5 ]
	[ "$("$rtl" diagnose job.db | tail -1)" = "all ranks did alike: kernels and work within 5 %" ]
	rm job.db
	job job ranks=3 slow=21 slow_rank=1
	run -0 "$rtl" diagnose job.db
	grep -q '^NOTE .* straggler? its GPU worked 5 % longer than that of the rank in the middle' <<<"$output"
	not grep -q 'did alike' <<<"$output"
	rm job.db
	job job ranks=3 slow=-40 slow_rank=1
	run -0 "$rtl" diagnose job.db
	grep -q '^NOTE .* its GPU worked 10 % less than that of the rank in the middle (communication not counted): less work, or a faster GPU?$' <<<"$output"
	# 10 kernels are less than 95 % of 12; that they are less work is not said twice.
	rm job.db
	job job ranks=3 steps=6 fewer=1
	run -0 "$rtl" diagnose --json job.db
	[ "$(jq -c '[.findings[] | [.level, .rank]]' <<<"$output")" = '[["NOTE",1]]' ]
	[[ $(jq -r '.findings[].text' <<<"$output") == "10 kernels, 83 % of the rank with most (12); "* ]]
	# Of one rank nothing is compared; of kernels without times no work.
	rm job.db
	job job ranks=1
	sqlite3 job.db "UPDATE rtl_process SET world_size = 1"
	[ "$("$rtl" diagnose job.db | tail -1)" = "no finding: there are not two ranks to compare" ]
	rm job.db
	job job ranks=2 untimed=1
	[ "$("$rtl" diagnose job.db | tail -1)" = "all ranks did alike: kernels within 5 %; their work is not known" ]
}

@test "diagnose: a session that was recorded in part is judged as a whole one" {
	python3 "$here/fixture_ranks.py" late "$here/../../collectord/db/schema" late.db
	# Of each rank as many kernels again were left out.
	sqlite3 late.db "UPDATE rtl_queue SET skipped = stored, dispatched = 2 * stored;
		INSERT INTO rtl_counter_base SELECT process_id, queueId, 'skipped_filter', skipped FROM rtl_queue"
	run -0 "$rtl" diagnose --json late.db
	[ "$(jq -r '.findings[] | "\(.rank) \(.text)"' <<<"$output")" = \
		"2 straggler? its GPU worked 90 % longer than that of the rank in the middle (communication not counted)" ]
	# Rank 2 went on when the others were stopped: more work of more kernels is no slower.
	sqlite3 late.db "UPDATE rtl_queue SET skipped = 0, dispatched = 24;
		UPDATE rtl_queue SET skipped = 2, stored = 22 WHERE process_id <> 3;
		UPDATE rtl_counter_base SET value = 2 * (process_id <> 3);
		DELETE FROM rtl_dispatch WHERE seq >= 22 AND shape_id NOT IN (5, 6)"
	run -0 "$rtl" diagnose --json late.db
	[ "$(jq -c '[.findings[] | [.level, .rank]]' <<<"$output")" = '[["NOTE",0],["NOTE",1],["NOTE",3]]' ]
	[[ $(jq -r '.findings[0].text' <<<"$output") == "2 of its 24 kernels were not recorded, more than of others: "* ]]
}

@test "diagnose: what a rank lost, or was not recorded, is no other work" {
	fixture clean
	cp clean.db few.db
	# Rank 1 has 333 elementwise_add, at every third place. Not one is left, for each of these reasons.
	sqlite3 clean.db "DELETE FROM rtl_dispatch WHERE shape_id = 5"
	for cause in "dropped = 333" "skipped = 333"; do
		sqlite3 clean.db "UPDATE rtl_queue SET stored = 667, dropped = 0, skipped = 0 WHERE process_id = 2;
			UPDATE rtl_queue SET $cause WHERE process_id = 2"
		run -0 "$rtl" diagnose --json clean.db
		[ "$(jq '[.findings[] | select(.of_kernels)] | length' <<<"$output")" = 0 ]
		[[ $(jq -r '.findings[] | select(.rank == 1).text' <<<"$output") == "333 of its "*"kernels were "* ]]
	done
	# Few are lost, all of a kernel of which there were few.
	sqlite3 few.db "UPDATE rtl_dispatch SET shape_id = 1 WHERE shape_id = 2 AND seq >= 30;
		UPDATE rtl_dispatch SET shape_id = 4 WHERE shape_id = 5 AND seq >= 30;
		DELETE FROM rtl_dispatch WHERE shape_id = 5;
		UPDATE rtl_queue SET stored = 990, dropped = 10 WHERE process_id = 2"
	run -0 "$rtl" diagnose --json few.db
	[ "$(jq '[.findings[] | select(.of_kernels)] | length' <<<"$output")" = 0 ]
	sqlite3 few.db "UPDATE rtl_queue SET dispatched = 993, dropped = 3 WHERE process_id = 2"
	run -0 "$rtl" diagnose --json few.db
	[ "$(jq -c '[.findings[] | select(.of_kernels) | [.level, .rank]]' <<<"$output")" = '[["MISSING",1]]' ]
	# One kernel of rank 0 has another name; what rank 1 lost may have had it, too.
	python3 "$here/fixture_ranks.py" late "$here/../../collectord/db/schema" alone.db
	sqlite3 alone.db "INSERT INTO rocpd_string (id, string) VALUES (900, 'other');
		INSERT INTO rtl_kernel_base VALUES (900, 'other.kd');
		CREATE TEMP TABLE s AS SELECT * FROM rtl_shape WHERE id = 1;
		UPDATE s SET id = 900, kernel_id = 900; INSERT INTO rtl_shape SELECT * FROM s;
		UPDATE rtl_dispatch SET shape_id = 900 WHERE shape_id = 1 AND seq = 0"
	run -0 "$rtl" diagnose --json alone.db
	[[ $(jq -r '.findings[] | select(.of_kernels).text' <<<"$output") == "is the only one with: 1 x other"* ]]
	sqlite3 alone.db "DELETE FROM rtl_dispatch WHERE shape_id = 3 AND seq = 0;
		UPDATE rtl_queue SET stored = 23, dropped = 1 WHERE process_id = 2"
	run -0 "$rtl" diagnose --json alone.db
	[ "$(jq '[.findings[] | select(.of_kernels)] | length' <<<"$output")" = 0 ]
}

@test "diagnose: a helper that inherits a rank is no rank without kernels" {
	fixture helper
	run -0 "$rtl" diagnose --strict --json helper.db
	[ "$(jq -c '[.findings[] | [.level, .rank, .process_id]]' <<<"$output")" = '[["NOTE",0,3]]' ]
	jq -e '.findings[0].text | test("a launcher or a helper")' <<<"$output"
	# And it is counted once.
	sqlite3 helper.db "UPDATE rtl_process SET world_size = 3"
	run -0 "$rtl" diagnose helper.db
	grep -q '2 of 3 ranks are in here' <<<"$output"
	# It may have come before that rank, as a launcher does.
	sqlite3 helper.db "UPDATE rtl_process SET start_ns = start_ns - 1 WHERE id = 3"
	run -0 "$rtl" diagnose --strict --json helper.db
	[ "$(jq -c '.findings[0] | [.level, .rank, .process_id]' <<<"$output")" = '["NOTE",0,3]' ]
}

@test "a text in a column of numbers is reported as a damaged file" {
	fixture clean
	cp clean.db gpu.db
	sqlite3 clean.db "UPDATE rtl_shape SET process_id = 'x' WHERE id = 4"
	sqlite3 gpu.db "UPDATE rtl_shape SET gpuId = 'x' WHERE id = 4"
	for file in clean.db gpu.db; do
		run -1 --separate-stderr "$rtl" summary $file
		[[ $stderr == "rtl: $file: damaged: "*" not a number" ]]
	done
}

@test "what rtl's own thread took of a run is told, of a dispatch and of the time, and of a run without it nothing" {
	$rtl run -q -o t.db --device soft -- "$demo" --ranks 2 --steps 6
	run -0 "$rtl" summary --json t.db
	[ "$(jq -c '.cost | [.thread_ns, .dispatched]' <<<"$output")" = "$(sqlite3 t.db "SELECT printf('[%d,%d]', 1000 * sum(value),
		(SELECT sum(dispatched) FROM rtl_account)) FROM rtl_counter WHERE name = 'thread_us'")" ]
	jq -e '.cost | .thread_ns > 0 and (.ranks | map(.rank)) == [0, 1] and
		(.thread_ns / .dispatched / 1000 - .us_per_dispatch | fabs) < 0.001 and
		(.ranks | map(.thread_ns) | add) == .thread_ns and
		(.ranks | all(.processor_pct > 0 and .processor_pct <= 101))' <<<"$output"
	run -0 "$rtl" summary t.db
	grep -Eq "^rtl's own thread took [0-9.]+ ms of processor time, [0-9.]+ us a dispatch, at most [0-9.]+ % of a processor \(rank [01]\)$" <<<"$output"
	rm t.db
	RTL_THREAD=no $rtl run -q -o t.db --device soft -- "$demo" --ranks 1 --steps 2
	[ "$("$rtl" summary --json t.db | jq -c .cost)" = null ]
	not grep -q "own thread" <("$rtl" summary t.db)
}

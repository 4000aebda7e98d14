#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# rtl collectives, on files whose figures are worked out by hand (fixture_ranks.py says how).
load lib.bash
bats_require_minimum_version 1.5.0

fixture() { # fixture KIND [FILE]
	python3 "$here/fixture_ranks.py" "$1" "$here/../../collectord/db/schema" "${2:-$1.db}"
}

# columns FILE TABLE COLUMN...: these columns of a CSV table, "|" between, a row a line
columns() {
	local file=$1 table=$2
	shift 2
	local names
	names=$(printf ',[%s]' "$@") # in brackets, since a name in quotes that is no column's is a text
	"$rtl" collectives --csv="$table" "$file" >columns.csv
	sqlite3 :memory: '.import --csv columns.csv t' "SELECT ${names#,} FROM t"
}

json() { # json FILE EXPRESSION: of the document d
	"$rtl" collectives --json "$1" | python3 -c 'import json, sys; d = json.load(sys.stdin); print(eval(sys.argv[1]))' "$2"
}

equals() { # equals TEXT EXPECTED
	[ "$1" = "$2" ] || {
		diff <(echo "$2") <(echo "$1")
		return 1
	}
}

@test "a late rank: skew, bandwidth by nccl-tests's formula, how often, how late, why" {
	fixture late
	# 1 MiB in the 60 us from the last arrival on: 17.476 GB/s; times 2 * 3 / 4 on the bus.
	[ "$(columns late.db groups operation datatype ranks count timed size_from_bytes latency_p50_ns \
		comm_latency_mean_ns skew_start_mean_ns skew_end_mean_ns algbw_gb_per_s busbw_gb_per_s)" = \
		"ncclAllReduce|bfloat16|4|12|12|1048576|60000|60000|90000|0|17.4762666666667|26.2144" ]
	# The first has nothing before it to compare with.
	[ "$(columns late.db ranks rank num_collectives times_arrived_last late_mean_ns explained compute_ns \
		copy_ns earlier_ns host_ns idle_ns compute_ratio mean_wait_ns cause | sed -n 1,2p)" = \
		"2|12|12|90000|11|90000|0|0|0|0|1.9|0|compute
0|12|0||0|||||||90000|" ]
	run -0 "$rtl" collectives late.db
	[ "${lines[0]}" = "SIMULATED complete: 96 dispatched, 96 stored" ]
	[ "${lines[1]}" = "Rank 2 is waited for, which costs 0 to 9 % of the time: it computes longer (90.0 us each time, 1.90x as long as rank 1); all GPUs idle for their hosts as long" ]
	[ "$(json late.db 'd["schema"], d["matched_by"], d["operations"], d["timed"], d["missing_parts"]')" = \
		"(1, 'sequence', 12, 12, 0)" ]
	# A cell is the mean lateness of a rank in its time.
	[ "$(json late.db '[sorted({c for c in r["late_mean_ns"] if c is not None}) for r in d["heat"]]')" = \
		"[[0], [0], [90000], [0]]" ]
}

@test "work that continues after the next collective began explains no lateness" {
	fixture again
	# All but the first and the step after the call that goes on; the step after that begins late for it.
	[ "$(columns again.db ranks rank times_arrived_last explained compute_ns copy_ns earlier_ns host_ns idle_ns cause | head -n 1)" = \
		"2|8|6|90000|0|16666|-16666|0|compute" ]
}

# bats test_tags=apart
@test "the order of the rows in the file does not matter" {
	fixture late
	fixture shuffled
	fixture slow_many
	for table in groups ranks operations missing; do
		diff <("$rtl" collectives --csv=$table late.db) <("$rtl" collectives --csv=$table shuffled.db)
		diff <("$rtl" collectives --csv=$table late.db) <("$rtl" collectives --csv=$table slow_many.db)
	done
}

@test "the causes of a late rank add up to its lateness" {
	fixture causes
	equals "$(columns causes.db operations comm seq late_ns compute_ns copy_ns earlier_ns host_ns idle_ns |
		grep ^4d)" "4d|0|50000|||||
4d|1|50000|50000|0|0|0|0
4d|2|50000|0|50000|0|0|0
4d|3|50000|0|0|0|50000|0
4d|4|50000|0|0|0|0|50000
4d|5|50000|0|0|50000|0|0"
	[ "$(columns causes.db ranks rank cause | sed -n 1p)" = "2|several" ]
	# Of six operations that may be chance.
	[[ "$(json causes.db 'd["reading"]')" == "no rank stands out: "* ]]
	# One communicator alone.
	[ "$(columns causes.db operations comm | sort -u)" = "4d
58" ]
	[ "$("$rtl" collectives --comm 58 --csv=operations causes.db | cut -d, -f1-3 | tail -n +2)" = "ncclAllReduce,58,0" ]
}

@test "a kernel held back in another queue: the GPU had work, in every answer" {
	fixture held
	reason() { "$rtl" summary --json held.db | python3 -c 'import json, sys; print(json.load(sys.stdin)["reason"]["text"])'; }
	[ "$(columns held.db ranks rank compute_ns copy_ns earlier_ns host_ns idle_ns unknown_ns cause | head -n 1)" = \
		"2|10000|0|0|0|190000|0|idle" ]
	[[ "$(json held.db 'd["reading"]')" == "Rank 2 is waited for, which costs 0 to 20 % of the time: its GPU idles with work submitted (190.0 us each time); all GPUs idle for their hosts as long" ]]
	# Whether that costs anything is not known: no reason accuses it.
	[[ "$(reason)" == "GPUs idle 53 %: the host submits late" ]]
	[ "$("$rtl" timeline --json held.db | python3 -c 'import json, sys
for row in json.load(sys.stdin)["ranks"]:
	cause = row["idle_cause_ns"]
	print(row["rank"], cause["dependency"], cause["unknown"])' | sed -n 3p)" = "2 2090000 0" ] # in the 11 steps that it finds
	# Nothing says when anything was submitted: neither is the host's doing, nor is it held back.
	sqlite3 held.db "UPDATE rtl_dispatch SET submit = NULL"
	[ "$(columns held.db ranks rank compute_ns host_ns idle_ns unknown_ns cause | head -n 1)" = \
		"2|10000|0|0|190000|unknown" ]
	[[ "$(json held.db 'd["reading"]')" == *": its GPU idles, and nothing says when its work was submitted (190.0 us each time)" ]]
	[[ "$(reason)" == *": its GPU idles (190.0 us each time)"* ]]
}

@test "a copy from the host to GPU 0 has one end, and it is GPU 0" {
	fixture late_copy
	[ "$(columns late_copy.db ranks rank times_arrived_last late_mean_ns compute_ns copy_ns host_ns idle_ns cause |
		sed -n 1p)" = "0|12|50000|0|50000|0|0|copy" ]
}

@test "a rank that is always last is no straggler where that costs little" {
	fixture late
	# A second passes before the last one, so that 12 times 90 us are a thousandth of it all.
	sqlite3 late.db "UPDATE rtl_dispatch SET start = start + 1000000000 WHERE seq >= 22"
	[ "$(json late.db 'd["reading"]')" = \
		"1 of 11 times between collectives take up to 1.0 s (the median is 1.0 ms), 99 % of the time: no rank is waited for" ]
	[ "$(columns late.db ranks rank times_arrived_last | head -n 1)" = "2|12" ]
	# Of pairs of ranks that nothing else connects none costs much.
	fixture pairs
	[[ "$(json pairs.db 'd["reading"]')" == "no rank stands out: ranks wait for each other 2 % of the time; "* ]]
}

@test "a rank that lacks a collective is named, and shifts no other" {
	fixture missing
	equals "$(columns missing.db missing rank operation comm seq process why)" \
		"0|ncclAllReduce|4d|0|exited 0|it has later ones only
1|ncclAllReduce|4d|2|exited 0|lost: it has earlier and later ones
3|ncclAllReduce|4d|4|killed by 9|it has earlier ones only
3|ncclAllReduce|4d|5|killed by 9|it has earlier ones only
1|ncclRecv|63|0|exited 0|the other side is there"
	# TraceLens matches by place: all after the lost one would be 100 us apart. Here those two that all
	# ranks have are 3 us apart, and the others are in no figure.
	equals "$(columns missing.db operations comm seq state skew_start_ns)" "4d|1|timed|3000
4d|3|timed|3000
63|0|timed|0
4d|0|incomplete|
4d|2|incomplete|
4d|4|incomplete|
4d|5|incomplete|
63|0|incomplete|"
	run -0 "$rtl" collectives missing.db
	[[ $output == *"MISSING: 5 parts; the first: rank 0 (exited 0), ncclAllReduce number 0 of 4d"* ]]
	[[ $output == *"1 of 23 communication kernels belong to no call that was recorded"* ]]
	[[ $output == *"have ranks that are not in here (63: 2 of 9)"* ]]
	run -3 "$rtl" collectives --strict missing.db
	[[ $output == *"--strict: ranks lack collectives"* ]]
	# The file has no writer: a process without an end in it is not alive for that.
	sqlite3 missing.db "UPDATE rtl_process SET exit_status = 255 WHERE rank = 0;
		UPDATE rtl_process SET ended = NULL, exit_status = NULL WHERE rank = 1"
	equals "$(columns missing.db missing rank process | sort -u)" "0|exited 255
1|unknown
3|killed by 9"
	[[ "$("$rtl" collectives missing.db)" == *"the first: rank 0 (exited 255)"* ]]
	[ "$("$rtl" collectives --ranks 3 --csv=missing missing.db | cut -d, -f1,5 | tail -n +2)" = "3,4
3,5" ]
}

@test "communicators that overlap, with computation beside them" {
	fixture overlap
	# Of the 10 us that rank 1 is late: 20 us more computation, 20 us less of it hidden behind the
	# other communicator, 10 us idle.
	equals "$(columns overlap.db operations comm seq latency_ns skew_start_ns late_ns compute_ns copy_ns \
		earlier_ns host_ns idle_ns)" "1|0|100000|0|0|||||
2|0|70000|30000|30000|||||
1|1|40000|10000|10000|20000|0|-20000|0|10000"
}

@test "groups share a kernel; all-to-all of sends; uneven amounts; fp8" {
	fixture groups
	equals "$(columns groups.db operations operation seq parts datatype ranks bytes latency_ns algbw_gb_per_s \
		busbw_gb_per_s imbalance state)" \
		"ncclAllGather|0|2|float32|4|32000|70000|0.457142857142857|0.342857142857143||timed
send/recv group|0|16|int8|4|10000|10000|1|0.75|1.6|timed
ncclAllToAllv|2|1|uint8|4|2000000|100000|20|15|2.5|timed
ncclReduceScatter|3|1|float8e4m3|4|100000|10000|10|7.5||timed
send/recv|1|1|float8e5m2|2|50000|50000|1|1||timed"
	# A sender is not late: a send and its receive order no ranks.
	[ "$(columns groups.db ranks num_collectives | sort -u)" = 4 ]
	run -0 "$rtl" collectives --operation reducescatter groups.db
	[[ $output == *ncclReduceScatter* && $output != *ncclAllToAllv* ]]
}

@test "a collective without times on a rank is in no figure of time, and said" {
	fixture untimed
	equals "$(columns untimed.db operations seq latency_ns state)" "0|100000|timed
1||untimed"
	run -0 "$rtl" collectives untimed.db
	[[ $output == *"1 of 2 have no times on some rank"* ]]
	[[ $output == *"no rank stands out: ranks wait for each other 0 % of the time; arrivals are 0.0 us apart"* ]]
}

@test "without calls: by order, flagged, and only as far as it fits" {
	fixture order
	[ "$(json order.db 'd["matched_by"], d["match_stopped"], d["timed"]')" = "('order', None, 5)" ]
	equals "$(columns order.db operations seq latency_ns skew_start_ns bytes | sed -n 1,2p)" "0|40000|20000|
1|40000|20000|"
	run -3 "$rtl" collectives --strict order.db
	[[ $output == *"MATCHED BY ORDER"* && $output == *"--strict: matched by order only"* ]]
	# One kernel lost on rank 1: TraceLens would go on, one off.
	fixture lost
	[ "$(json lost.db 'd["timed"], d["match_stopped"]')" = \
		"(2, 'rank 0 left its number 2 before rank 1 came to its own')" ]
	run -0 "$rtl" collectives lost.db
	[[ $output == *"the match stops after 2 of 5: rank 0 left its number 2 before rank 1 came to its own"* ]]
}

@test "ranks of two nodes: their wall clocks, and what the collectives say of them" {
	fixture nodes
	run -0 "$rtl" collectives nodes.db
	[[ $output == *"2 NODES: their clocks are known to 50.0 us, from their wall clocks"* ]]
	# The wall clocks put rank 1 10 us earlier than its own would: both start together.
	[ "$(columns nodes.db operations skew_start_ns late_ns | sort -u)" = "0|0" ]
	[ "$(json nodes.db 'd["nodes"], d["nodes_clock_error_ns"]')" = "(2, 50000)" ]
	# Wall clocks that are wrong by a second: the collectives say so.
	sqlite3 nodes.db "UPDATE rtl_clock SET realtime_ns = realtime_ns + 1000000000 WHERE process_id = 2"
	run -0 "$rtl" collectives nodes.db
	[[ $output == *"their clocks are known to 50.0 us, from their wall clocks, which the collectives correct"* ]]
	[ "$(columns nodes.db operations skew_start_ns | sort -u)" = 0 ]
}

# bats test_tags=apart
@test "collectives of 1,000 ranks are summed, and the straggler named" {
	fixture many
	[[ "$(json many.db 'd["reading"]')" == "Rank 617 is waited for, which costs 0 to 30 % of the time: its host submits late (30.0 us each time); all GPUs idle for their hosts as long" ]]
	[ "$(columns many.db groups ranks latency_p50_ns skew_start_max_ns)" = "1000|20000|30000" ]
	run -0 "$rtl" collectives many.db
	[ "${#lines[@]}" -lt 80 ]
	[[ $output == *"... and 980 more (--top 0)"* ]]
}

@test "collectives of hostile names, of no kernel, of one kernel and of a live file" {
	fixture names
	run -0 "$rtl" collectives names.db
	LC_ALL=C not grep -qP '[\x00-\x08\x0b-\x1f\x7f]' <<<"$output"
	python3 -c 'import sys; assert max(map(len, open(0, encoding="utf-8"))) <= 101' <<<"$(sed 2d <<<"$output")"
	"$rtl" collectives --json names.db | python3 -m json.tool >/dev/null
	[ "$(columns names.db operations state | sort -u)" = timed ]
	for kind in none one; do
		fixture $kind
		run -0 "$rtl" collectives $kind.db
		[ "${lines[1]}" = "no collectives: neither RCCL calls nor communication kernels are in here" ]
		[ "$("$rtl" collectives --csv $kind.db | wc -l)" -eq 1 ]
		"$rtl" collectives --json $kind.db | python3 -m json.tool >/dev/null
	done
	fixture live
	run -0 "$rtl" collectives live.db
	[[ ${lines[0]} == "SIMULATED INCOMPLETE: "* ]]
	[[ ${lines[1]} == "Rank 2 is waited for"* ]]
}

@test "what was captured into a graph is a collective at each launch of it, with its size, and late as any" {
	fixture graphs
	[ "$(json graphs.db 'd["matched_by"], d["operations"], d["timed"], d["missing_parts"], d["mismatched"], d["unlinked"]')" = \
		"('sequence', 37, 37, 0, 0, 0)" ]
	# The late one as outside of graphs: 1 MiB in 60 us.
	equals "$(columns graphs.db groups operation size_from_bytes ranks count latency_p50_ns skew_start_mean_ns algbw_gb_per_s | sort)" \
		"group of several|16384|4|12|30000|0|0.682666666666667
ncclAllReduce|1048576|4|13|60000|83076|18.6732712328767
ncclAllReduce|2048|4|12|20000|0|0.1024"
	[ "$(columns graphs.db ranks rank num_collectives times_arrived_last late_mean_ns compute_ns cause | sed -n 1p)" = \
		"2|37|12|90000|90000|compute" ]
	[ "$(columns graphs.db operations seq replay | sed -n '1,4p; $p' | tr '\n' ' ')" = "0|0 1|0 2|0 0|1 4| " ]
	# Summary counts them, and the time line says what they are.
	[ "$("$rtl" summary --json graphs.db | python3 -c 'import json, sys
for c in json.load(sys.stdin)["collectives"]: print(c["op"], c["calls"], c["bytes"])')" = "ncclAllReduce 148 54820864
ncclAllGather 48 196608" ]
	# Twelve times 150 us, 60 on rank 2, and 20 us, 10 us after them; a group of two kinds is neither.
	[ "$("$rtl" timeline --json graphs.db | python3 -c 'import json, sys
for r in json.load(sys.stdin)["ranks"]: print(r["rank"], r["per_stream_ms"]["allreduce"], r["per_stream_ms"]["communication"])')" = \
		"0 2.05 0.36
1 2.05 0.36
2 0.97 0.36
3 2.05 0.36" ]
	# No launch of the graph was recorded: its calls are none, its kernels are matched by order.
	sqlite3 graphs.db "DELETE FROM rtl_call_base WHERE graph_exec IS NOT NULL; UPDATE rtl_dispatch SET call = NULL WHERE node >= 0"
	[ "$(json graphs.db 'd["matched_by"], d["operations"], d["matched_by_order"], d["timed"], d["missing_parts"]')" = \
		"('sequence and order', 37, 36, 37, 0)" ]
	run -0 "$rtl" collectives graphs.db
	[[ "$output" == *"MATCHED BY ORDER: 36 operations; RCCL calls were captured into graphs, whose launches modes hip and full record"* ]]
	run -3 "$rtl" collectives --strict graphs.db
}

@test "the collectives of a real run with a stand-in for RCCL have their counts, sizes and a late rank" {
	export SOFTGPU_COUNT=3 SOFTGPU_FAULT='kernel *ncclDevKernel_* meet=ranks'
	# So long that the GPUs stay ahead of the hosts of any machine.
	awk '/^kernel .* duration=/ {n = $0; sub(/.*duration=/, "", n); sub(/[0-9]+$/, n * 100)} {print}' \
		"$SOFTGPU_SCRIPT" >long.script
	export SOFTGPU_SCRIPT=$PWD/long.script
	"$rtl" run -o t.db --device soft -- "$RTL_BUILD/bin/rtl-demo-rccl" --ranks 3 --steps 4 --straggler 2 >out 2>err
	grep -q '^SIMULATED complete: 1431 dispatched, 1431 stored$' err
	# Of each step and rank: an all-reduce for each of 4 layers and a reduce-scatter, on one communicator.
	equals "$(sql t.db 'SELECT op, rank, count(*), min(count), max(count), min(bytes), max(bytes), count(DISTINCT comm)
		FROM rtl_collective GROUP BY 1, 2')" "$(for rank in 0 1 2; do
		echo "ncclAllReduce|$rank|16|262144|262144|1048576|1048576|1"
	done; for rank in 0 1 2; do
		echo "ncclReduceScatter|$rank|4|65536|65536|786432|786432|1"
	done)"
	[ "$(sql t.db 'SELECT count(DISTINCT comm) FROM rtl_collective')" = 1 ]
	# Each has one kernel, of its own rank and in its own queue, which met those of the others.
	[ "$(sql t.db 'SELECT count(*), count(DISTINCT j.dispatch_id), sum(o.rank = k.rank) FROM rtl_collective k
		JOIN rtl_collective_kernel j ON j.collective_id = k.id JOIN rocpd_op o ON o.id = j.dispatch_id')" = "60|60|60" ]
	equals "$(columns t.db operations operation datatype ranks bytes parts matched_by state | sort | uniq -c | sed 's/^ *//')" \
		"$(printf '16 ncclAllReduce|float32|3|1048576|1|sequence|timed\n4 ncclReduceScatter|float32|3|786432|1|sequence|timed')"
	"$rtl" collectives t.db >shown
	grep -q '^Rank 2 is waited for' shown
	grep -q 'mean lateness behind the first to arrive' shown
	not grep -q 'MATCHED BY ORDER' shown
	# What is cut is not the rank that is late, and --top is asked for each table.
	"$rtl" collectives --top 1 t.db >shown
	grep -A 1 '^mean lateness' shown | grep -q '^rank 2  *|'
	grep -q '^\.\.\. and 2 more (--top 0)$' shown
	! "$rtl" collectives --top 0 t.db | grep 'more (--top 0)'
}

@test "rtl collectives refuses bad options with one line" {
	fixture none
	run -2 "$rtl" collectives none.db none.db
	run -2 "$rtl" collectives --csv=nothing none.db
	[ "${#lines[@]}" -eq 1 ]
	run -2 "$rtl" collectives --comm xyz none.db
	run -2 "$rtl" collectives --ranks a none.db
	fixture late
	for words in "--comm 99" "--operation Gather"; do
		# shellcheck disable=SC2086 # words
		run -1 --separate-stderr "$rtl" collectives $words late.db
		[[ $stderr =~ ^rtl:\ no\ collective\ of\ that\ (communicator|operation)\ could\ be\ matched ]]
		[ -z "$output" ]
	done
	run -1 "$rtl" collectives nowhere.db
	[ "${#lines[@]}" -eq 1 ]
}

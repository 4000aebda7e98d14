#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# rtl tree, on files whose figures are worked out by hand (fixture_tree.py says how).
load lib.bash
bats_require_minimum_version 1.5.0

fixture() { # fixture KIND [FILE]
	python3 "$here/fixture_tree.py" "$1" "$here/../../collectord/db/schema" "${2:-$1.db}"
}

# nodes FILE COLUMN... [-- OPTION...]: "depth name|..." a line a node
nodes() {
	local file=$1 columns=()
	shift
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		columns+=("$1")
		shift
	done
	[ $# -eq 0 ] || shift
	"$rtl" tree --csv "$@" "$file" | python3 -c '
import csv, sys
for row in csv.DictReader(sys.stdin):
    print(row["depth"] + " " + row["name"] + "|" + "|".join(row[c] for c in sys.argv[1:]))' "${columns[@]}"
}

equals() { # equals TEXT EXPECTED
	[ "$1" = "$2" ] || {
		diff <(echo "$2") <(echo "$1")
		return 1
	}
}

@test "one tree of all ranks: inclusive, exclusive, latency, counts, spread" {
	fixture plain
	equals "$(nodes plain.db kind gpu_ns gpu_self_ns kernels kernels_self count open host_ns)" \
		"1 step|range|703000|23000|21|5|5|1|3600000
2 forward|range|600000|0|8|0|4|0|1160000
3 hipLaunchKernel|call|600000|600000|8|8|8|0|40000
4 gemm|kernel|600000|600000|8|8|8|0|
2 backward|range|80000|0|8|0|4|0|2000000
3 train|call|80000|0|8|0|4|0|360000
4 hipGraphLaunch|call|80000|80000|8|8|4|0|40000
5 add|kernel|80000|80000|8|8|8|0|
2 add|kernel|23000|23000|5|5|5|0|
1 add|kernel|28000|28000|4|4|4|0|
1 loader|started|0|0|0|0|4|0|1980000"
	# From the innermost call's begin, and from submission, to the kernel's start.
	equals "$(nodes plain.db launch_mean_ns launch_max_ns queue_mean_ns queue_max_ns | sed -n '1p;3p;7p;9p')" \
		"1 step|40000|60000|25000|50000
3 hipLaunchKernel|40000|40000|30000|30000
4 hipGraphLaunch|40000|60000|30000|50000
2 add|||9000|10000"
	# Rank 1's gemms take twice as long.
	equals "$(nodes plain.db processes slowest_rank slowest_gpu_ns fastest_gpu_ns | sed -n 2p)" \
		"2 forward|2|1|400000|200000"
	run -0 "$rtl" tree plain.db
	[ "${lines[1]}" = "0.731 ms GPU time: 25 kernels, 2 processes, 96 % in roctx ranges, 40.0 us from call to start" ]
	[[ $output == *"1: 1.33x"*"forward x4"* && $output == *"step x5 (1 open)"* ]]
}

@test "a tree a rank and thread: equal ids of two ranks never mix" {
	fixture plain
	equals "$(nodes plain.db rank gpu_ns kernels count open -- --by rank --depth 4 | grep -v ' add')" \
		"1 rank 0|0|264000|12||0
2 thread 7|0|250000|10||0
3 step|0|250000|10|2|0
4 forward|0|200000|4|2|0
4 backward|0|40000|4|2|0
2 thread 8|0|14000|2||0
2 thread 9|0|0|0||0
3 loader|0|0|0|2|0
1 rank 1|1|467000|13||0
2 thread 7|1|453000|11||0
3 step|1|453000|11|3|1
4 forward|1|400000|4|2|0
4 backward|1|40000|4|2|0
2 thread 8|1|14000|2||0
2 thread 9|1|0|0||0
3 loader|1|0|0|2|0"
	# One rank alone is that part of it.
	diff <("$rtl" tree --folded --by rank plain.db | grep '^rank 1;') \
		<("$rtl" tree --folded --by rank --ranks 1 plain.db)
	equals "$("$rtl" tree --folded --by rank --ranks 0 plain.db)" \
		"rank 0;thread 7;step;forward;hipLaunchKernel;gemm 200000
rank 0;thread 7;step;backward;train;hipGraphLaunch;add 40000
rank 0;thread 7;step;add 10000
rank 0;thread 8;add 14000"
}

@test "sums: the stacks are the GPU time of the file, whatever the order of its rows" {
	fixture plain
	fixture shuffled
	for by in rank merged; do
		[ "$("$rtl" tree --folded --by $by plain.db | awk '{n += $NF} END {print n}')" = \
			"$(sql plain.db 'SELECT sum("end" - start) FROM rocpd_op')" ]
		diff <("$rtl" tree --csv --by $by plain.db) <("$rtl" tree --csv --by $by shuffled.db)
	done
	# Each node is its own and its children's.
	"$rtl" tree --json --by rank plain.db | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert d["schema"] == 1 and d["by"] == "rank"
below = {}
for n in d["nodes"]:
    if n["kind"] != "kernel":
        below.setdefault(n["id"], 0)
    if n["parent"] and n["kind"] != "kernel":
        below[n["parent"]] += n["gpu_ns"]
for n in d["nodes"]:
    if n["kind"] != "kernel":
        assert n["gpu_ns"] == n["gpu_self_ns"] + below[n["id"]], n
assert sum(n["gpu_ns"] for n in d["nodes"] if n["depth"] == 1) == d["gpu_ns"]'
}

@test "tree keeps records without parent, time or thread where they belong, and says so" {
	fixture lost
	equals "$(nodes lost.db gpu_ns kernels untimed -- --by rank)" "1 rank 0|30000|4|1
2 thread ?|10000|1|0
3 gemm|10000|1|0
2 thread 7|20000|3|1
3 step|10000|2|1
4 gemm|10000|2|1
3 gemm|10000|1|0"
	run -0 "$rtl" tree lost.db
	[[ $output == *"kernels without times: 1;"* ]]
	[[ $output == *"kernels whose host call has no record: 1"* ]]
	[[ $output == *"kernels whose range has no record: 1"* ]]
}

@test "tree options leave out deep levels, small rows and kernels" {
	fixture plain
	[ "$(nodes plain.db -- --depth 1 | wc -l)" -eq 3 ]
	run -0 "$rtl" tree --min-percent 20 plain.db
	[[ $output == *"(2 smaller)"* && $output != *backward* ]]
	[ -z "$(nodes plain.db -- --no-kernels | grep -E 'gemm|add')" ]
	[ "$(nodes plain.db gpu_ns -- --no-kernels | sed -n 1p)" = "1 step|703000" ]
	for bad in "--depth 0" "--min-percent 101" "--min-percent x" "--by node" "--ranks x"; do
		run -2 "$rtl" tree $bad plain.db
		[ "${#lines[@]}" -eq 1 ]
	done
}

@test "tree of deep, hostile and long names, of no kernels, and of a live file" {
	fixture deep
	# What is deeper belongs to the deepest that there may be.
	[ "$(nodes deep.db gpu_ns count | tail -n 2)" = "126 level 125|10000|275
127 gemm|10000|1" ]
	fixture names
	run -0 "$rtl" tree names.db
	LC_ALL=C not grep -qP '[\x00-\x08\x0b-\x1f\x7f]' <<<"$output"
	python3 -c 'import sys; assert max(map(len, open(0, encoding="utf-8"))) <= 101' <<<"$output"
	"$rtl" tree --json names.db | python3 -m json.tool >/dev/null
	"$rtl" tree --csv names.db | grep -q "'=cmd"
	[ "$("$rtl" tree --folded names.db | sed -n 1p)" = '\x1b[31mred:\n\u202e;gemm 10000' ]
	for kind in none one live; do
		python3 "$here/fixture_ranks.py" $kind "$here/../../collectord/db/schema" $kind.db
		run -0 "$rtl" tree $kind.db
		"$rtl" tree --json $kind.db | python3 -m json.tool >/dev/null
	done
	[[ $("$rtl" tree none.db) == *"no kernels: nothing to show times of" ]]
	fixture plain
	run -1 "$rtl" tree --ranks 7 plain.db
	[ "$output" = "rtl: plain.db: no rank 7, it has ranks 0-1; choose from these, or leave out --ranks" ]
	run -2 "$rtl" tree --json --folded plain.db
	[ "$output" = "rtl: tree: --folded and --json do not go together: give one of them" ]
	[[ $("$rtl" tree one.db) == *gemm ]]
	[[ $("$rtl" tree live.db) == *INCOMPLETE*ncclAllReduce* ]]
}

@test "tree merges steps that differ in their number, and no other names" {
	fixture numbers
	equals "$(nodes numbers.db count -- --no-kernels | sort)" "1 ProfilerStep#N warm|1
1 ProfilerStep#N|1
1 epoch 7 step 1|1
1 layer 1|1
1 layer 2|1
1 step N|2"
	equals "$(nodes numbers.db count -- --no-kernels --steps '^layer [0-9]' | grep 'layer')" "1 layer N|2"
	[ "$(nodes numbers.db -- --no-kernels --each-step | wc -l)" -eq 7 ]
	for steps in '(' '(a|)+(a|){2,9}' 'step (.)\1'; do
		run -2 "$rtl" tree --steps "$steps" numbers.db
		[ "${#lines[@]}" -eq 1 ]
	done
}

# bats test_tags=apart
@test "a tree of 1,000 ranks names the slowest rank" {
	fixture wide
	equals "$(nodes wide.db gpu_ns processes slowest_rank slowest_gpu_ns)" "1 step|10050000|1000|617|60000
2 gemm|10050000|1000|617|60000"
	[ "$(nodes wide.db -- --by rank | wc -l)" -eq 4000 ]
}

@test "a tree names the rank that is late to collectives, not those that wait in them for it" {
	python3 "$here/fixture_ranks.py" late "$here/../../collectord/db/schema" late.db
	equals "$(nodes late.db gpu_ns processes slowest_work_rank slowest_work_ns fastest_work_ns)" \
		"1 ncclAllReduce|6120000|4|||
2 ncclDevKernel_Generic_1|6120000|4|||
1 gemm|5880000|4|2|2280000|1200000"
	# In a range that has both, too: it takes as long on all ranks.
	sqlite3 late.db "INSERT INTO rocpd_string VALUES (900, 'epoch');
		INSERT INTO rtl_marker_base SELECT id, 1, NULL, 7, 'push', 900, 0, 9000000000000 FROM rtl_process;
		UPDATE rtl_dispatch SET marker = 1; UPDATE rtl_call_base SET marker = 1"
	[ "$(nodes late.db gpu_ns work_ns slowest_work_rank slowest_work_ns | sed -n 1p)" = "1 epoch|12000000|5880000|2|2280000" ]
	run -0 "$rtl" tree late.db
	[[ $output == *" 2: 1.55x "*epoch* && $(grep -c : <<<"${output#*NAME}") -eq 2 ]]
}

# bats test_tags=apart
@test "tree sums the names beyond its limit of nodes in one row, and says so" {
	fixture flood
	run -0 "$rtl" tree flood.db
	[[ $output == *"1 kernels, 1 process,"* && $output == *"(other names)"* ]]
}

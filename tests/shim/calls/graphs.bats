#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# RCCL's calls that are captured into hipGraphs: Debian's HIP, and the stand-in for RCCL (fake_rccl.c).
load ../../system/lib.bash
export LC_ALL=C
bats_require_minimum_version 1.5.0

export ASAN_OPTIONS=detect_leaks=0:use_sigaltstack=0
program=$RTL_BUILD/tests-bin/graphs-calls
ranks=3

# record MODE SCENE REPLAYS: $ranks ranks into one t.db, the output of each in out.RANK. Kernels of collectives
# wait for those of the same name on the other ranks. If two streams launch them in another order on each rank, they
# wait for those of other collectives; collectives that could not have happened like that are counted here, too.
record() {
	export SOFTGPU_COUNT=1
	unset SOFTGPU_SCRIPT
	head -c 128 /dev/urandom >id
	SOFTGPU_MEET=$PWD/meet SOFTGPU_FAULT="kernel nccl* meet=$ranks" SOFTGPU_REALTIME=1 RTL_EXIT_MS=60000 "$rtl" run -m "$1" -o t.db --device soft -- sh -c '
		for rank in 0 1 2; do
			RTL_RANK=$rank "$0" $rank 3 id "$1" "$2" >out.$rank &
		done
		wait' "$program" "$2" "$3" 2>err || {
		cat err
		return 1
	}
	cat err
	accounted t.db
	tail -n 1 err | grep -Eq '^SIMULATED complete: '
}

# columns TABLE COLUMN...: of a CSV table, "|" between.
columns() {
	local table=$1
	shift
	"$rtl" collectives --csv="$table" t.db | python3 -c '
import csv, sys
for row in csv.DictReader(sys.stdin):
    print("|".join("timed" if row[c] == "impossible" else row[c] for c in sys.argv[1:]))' "$@"
}

json() { # json EXPRESSION: of the document d
	"$rtl" collectives --json t.db | python3 -c 'import json, sys; d = json.load(sys.stdin); d["timed"] += d["impossible"]
print(eval(sys.argv[1]))' "$1"
}

# has_kernels OPERATION COUNT: every operation on COUNT float32 begins with a kernel whose grid is COUNT.
has_kernels() {
	columns operations operation bytes start_ns |
		awk -F'|' -v o="$1" -v b=$((4 * $2)) '$1 == o && $2 == b && $3 != "" { print $3 }' >starts
	[ -s starts ]
	[ "$(sql t.db "SELECT count(DISTINCT start) FROM rocpd_op JOIN rtl_kernel k ON k.id = description_id
		WHERE gridX = $2 AND k.name LIKE 'nccl%' AND start IN ($(paste -sd, starts))")" -eq "$(sort -u starts | wc -l)" ]
}

@test "4 all-reduces in a graph of 25 launches are 100 on each rank, with their sizes and kernels" {
	record hip alone 25
	[ "$(json 'd["matched_by"], d["operations"], d["timed"], d["missing_parts"], d["mismatched"], d["unlinked"]')" = \
		"('sequence', 102, 102, 0, 0, 0)" ]
	# Each of the three ranks has all of them; each size 25 times, in 25 replays.
	[ "$(columns operations operation bytes ranks state datatype matched_by | sort | uniq -c | awk '{print $1, $2}')" = \
		"1 ncclAllReduce|1604|3|timed|float32|sequence
1 ncclAllReduce|1608|3|timed|float32|sequence
25 ncclAllReduce|2004|3|timed|float32|sequence
25 ncclAllReduce|2008|3|timed|float32|sequence
25 ncclAllReduce|2012|3|timed|float32|sequence
25 ncclAllReduce|2016|3|timed|float32|sequence" ]
	[ "$(columns operations replay | sort -n | uniq -c | awk '{print $1}' | sort | uniq -c | awk '{print $1 "x" $2}' | tr '\n' ' ')" = \
		"1x2 25x4 " ]
	# The kernel of each has as many work-groups as it has elements.
	has_kernels ncclAllReduce 501
	has_kernels ncclAllReduce 503
	# In SQL: one row a rank, captured call and launch.
	[ "$(sql t.db "SELECT op, count(*), count(DISTINCT graph_launch_id), count(DISTINCT rank), sum(bytes)
		FROM rtl_collective WHERE graph_launch_id IS NOT NULL GROUP BY 1")" = \
		"ncclAllReduce|300|75|3|$((75 * (2004 + 2008 + 2012 + 2016)))" ]
	[ "$(sql t.db 'SELECT count(*) FROM rtl_collective WHERE graph_launch_id IS NULL')" -eq 6 ]
	# And its kernel.
	[ "$(sql t.db "SELECT count(*), count(DISTINCT o.id), sum(o.gridX = k.count) FROM rtl_graph_collective_kernel j
		JOIN rtl_collective k ON k.id = j.collective_id AND k.graph_launch_id = j.graph_launch_id
		JOIN rocpd_op o ON o.id = j.dispatch_id")" = "300|300|300" ]
	# The totals of the other answers.
	[ "$("$rtl" summary --json t.db | python3 -c 'import json, sys
c, = json.load(sys.stdin)["collectives"]
print(c["op"], c["calls"], c["bytes"], c["comm_size"])')" = "ncclAllReduce 306 $((75 * 8040 + 3 * 3212)) 3" ]
	[ "$("$rtl" timeline --json t.db | python3 -c 'import json, sys
for rank in json.load(sys.stdin)["ranks"]:
    ms = rank["per_stream_ms"]
    print(ms["allreduce"] > 0, ms["communication"])' | sort -u)" = "True 0.0" ]
}

@test "a captured group is one kernel of its calls, and a call of one rank has none" {
	record hip groups 10
	[ "$(json 'd["matched_by"], d["missing_parts"], d["mismatched"], d["unlinked"]')" = "('sequence', 0, 0, 0)" ]
	# Each replay has two groups, two single calls, and a copy on each rank.
	[ "$(columns operations operation ranks state | sort | uniq -c | sed 's/^ *//')" = \
		"20 group of several|3|timed
30 ncclAllReduce|1|untimed
22 ncclAllReduce|3|timed" ]
	# The single call after the copy and the second group has its own kernel.
	has_kernels ncclAllReduce 502
	[ "$(sql t.db "SELECT count(*) FROM rtl_collective WHERE group_id IS NOT NULL")" -eq $((3 * 10 * 6)) ]
	# In SQL a kernel's grid is all elements of the calls that share it.
	[ "$(sql t.db "SELECT count(*), sum(gridX = elements) FROM (SELECT o.gridX, sum(k.count) AS elements
		FROM rtl_graph_collective_kernel j
		JOIN rtl_collective k ON k.id = j.collective_id AND k.graph_launch_id = j.graph_launch_id
		JOIN rocpd_op o ON o.id = j.dispatch_id GROUP BY o.id)")" = "120|120" ]
}

@test "calls captured from two streams keep their kernels, in whatever order these are launched" {
	record hip streams 10
	[ "$(json 'd["matched_by"], d["operations"], d["timed"], d["missing_parts"]')" = "('sequence', 82, 82, 0)" ]
	# HIP launches the second stream's before the first's: not in the order of the calls.
	[ "$(sql t.db "SELECT count(*) FROM (SELECT gridX - lag(gridX) OVER (PARTITION BY api_id ORDER BY graph_node) AS step
		FROM rocpd_op o JOIN rtl_kernel k ON k.id = description_id
		WHERE graph_exec IS NOT NULL AND name LIKE 'nccl%') WHERE step < 0")" -gt 0 ]
	[ "$(sql t.db 'SELECT count(*) FROM rtl_graph_collective_kernel')" -eq 0 ]
	local count
	for count in 501 502 503 504 505 552 553 554; do
		has_kernels ncclAllReduce "$count"
	done
}

@test "where calls of two streams are of one size, each replay is matched by order, and that is said" {
	record hip alike 10
	[ "$(json 'd["matched_by"], d["operations"], d["matched_by_order"], d["timed"], d["missing_parts"]')" = \
		"('sequence and order', 82, 80, 82, 0)" ]
	[ "$(columns operations operation bytes ranks matched_by | sort | uniq -c | sed 's/^ *//')" = \
		"1 ncclAllReduce|1604|3|sequence
1 ncclAllReduce|1608|3|sequence
80 ncclDevKernel_Generic_1||3|order" ]
	[ "$(columns operations replay matched_by | sort | uniq -c | awk '{print $1}' | sort -u | tr '\n' ' ')" = "2 8 " ]
	"$rtl" collectives t.db | grep -q "MATCHED BY ORDER, within each replay: 80 operations of 3 executable graphs"
	run -3 "$rtl" collectives --strict t.db
}

@test "a graph that is made executable twice, and one captured anew at its address, are kept apart" {
	record hip twice 10
	[ "$(json 'd["matched_by"], d["operations"], d["timed"], d["missing_parts"], d["mismatched"]')" = \
		"('sequence', 162, 162, 0, 0)" ]
	[ "$(columns operations seq | sort -n | uniq -c | awk '{print $1 "x" $2}' | tr '\n' ' ')" = \
		"1x0 20x1 20x2 20x3 20x4 20x5 20x6 20x7 20x8 1x9 " ]
	# In a damaged file launches have kernels of other processes: an answer, or a line about it.
	sqlite3 t.db "UPDATE rtl_dispatch SET shape_id = (SELECT min(id) FROM rtl_shape) WHERE rowid % 7 = 0"
	for verb in collectives summary whatif; do
		run "$rtl" "$verb" t.db
		[ "$status" -le 4 ]
	done
}

@test "a rank that dies between two launches of a graph lacks the later ones" {
	record hip alone 6
	sqlite3 t.db "DELETE FROM rtl_dispatch WHERE rowid IN (SELECT id FROM rocpd_op WHERE rank = 1 AND graph_launch > 3);
		DELETE FROM rtl_call_base WHERE process_id IN (SELECT id FROM rtl_process WHERE rank = 1)
			AND (graph_launch > 3 OR id = (SELECT max(id) FROM rtl_collective_base
				WHERE id >> 40 = rtl_call_base.process_id));"
	[ "$(columns missing rank seq replay why | sort)" = "1|1|4|it has earlier ones only
1|1|5|it has earlier ones only
1|2|4|it has earlier ones only
1|2|5|it has earlier ones only
1|3|4|it has earlier ones only
1|3|5|it has earlier ones only
1|4|4|it has earlier ones only
1|4|5|it has earlier ones only
1|5||it has earlier ones only" ]
}

@test "mode standard: a captured call is no collective, and the kernels of its replays are matched by order" {
	record standard alone 10
	[ "$(sql t.db 'SELECT count(*) FROM rtl_collective')" -eq 6 ]
	[ "$(json 'd["matched_by_order"] <= 40, d["operations"] - d["matched_by_order"], d["missing_parts"]')" = \
		"(True, 2, 0)" ]
	"$rtl" collectives t.db | grep -q "RCCL calls were captured into graphs, whose launches modes hip and full record"
	[ "$("$rtl" summary --json t.db | python3 -c 'import json, sys
c, = json.load(sys.stdin)["collectives"]
print(c["op"], c["calls"], c["bytes"])')" = "ncclAllReduce 6 $((3 * 3212))" ]
}

@test "mode full: replays are collectives with their sizes, and no other call of HIP's is recorded" {
	record full alone 10
	[ "$(json 'd["matched_by"], d["operations"], d["timed"], d["missing_parts"], d["unlinked"]')" = "('sequence', 42, 42, 0, 0)" ]
	local count
	for count in 501 502 503 504; do
		has_kernels ncclAllReduce "$count"
	done
	[ "$(sql t.db "SELECT api, count(*) FROM rtl_host_call WHERE api LIKE 'hip%' GROUP BY 1 ORDER BY 1")" = "hipGraphDestroy|3
hipGraphExecDestroy|3
hipGraphInstantiate|3
hipGraphLaunch|30" ]
	rm t.db
	# HIP's calls inside RCCL are not recorded, so kernels of two streams cannot be told apart.
	record full streams 4
	[ "$(json 'd["matched_by"], d["operations"], d["matched_by_order"], d["missing_parts"]')" = \
		"('sequence and order', 34, 32, 0)" ]
	rm t.db
	record full groups 4
	[ "$(columns operations operation ranks state matched_by | sort | uniq -c | sed 's/^ *//')" = \
		"8 group of several|3|timed|sequence
12 ncclAllReduce|1|untimed|sequence
10 ncclAllReduce|3|timed|sequence" ]
}

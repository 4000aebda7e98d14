#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# One rank is made to compute longer: real HIP on the software GPU, and a stand-in for RCCL, whose
# kernels wait for those of the other ranks.
load ../../system/lib.bash
bats_require_minimum_version 1.5.0
export ASAN_OPTIONS=detect_leaks=0:use_sigaltstack=0
program=$RTL_BUILD/tests-bin/late-calls
# Longer than a rank without a processor is late on a loaded machine.
late_ms=900

record() { # record: four ranks, 12 steps, rank 2 late, into t.db
	head -c 128 /dev/urandom >id
	head -c 4 /dev/zero >barrier
	printf 'kernel work_a duration=%dms\nkernel nccl* duration=1ms\n' $((late_ms + 5)) >late.script
	printf 'kernel work_a duration=5ms\nkernel nccl* duration=1ms\n' >other.script
	SOFTGPU_MEET=$PWD/meet SOFTGPU_FAULT='kernel nccl* meet=4' SOFTGPU_REALTIME=1 SOFTGPU_COUNT=1 RTL_EXIT_MS=60000 "$rtl" run -o t.db --device soft -- sh -c '
		for rank in 0 1 2 3; do
			[ $rank = 2 ] && script=late || script=other
			SOFTGPU_SCRIPT=$PWD/$script.script RTL_RANK=$rank "$0" $rank 4 id barrier 12 &
		done
		wait' "$program" 2>err || {
		cat err
		return 1
	}
	cat err
	accounted t.db
}

@test "the planted rank is named, how late it is, and that it computes longer" {
	record
	run -0 "$rtl" collectives t.db
	echo "$output"
	[[ ${lines[0]} == "SIMULATED complete: 96 dispatched, 96 stored" ]]
	[[ ${lines[1]} =~ ^"Rank 2 is waited for, which costs 9"[0-9]" % of the time: it computes longer ($late_ms.0 ms each time, 181.00x as long as rank "[013]")"$ ]]
	"$rtl" collectives --json t.db | python3 -c '
import json, sys
d, late = json.load(sys.stdin), int(sys.argv[1]) * 1000000
assert d["matched_by"] == "sequence" and d["operations"] == d["timed"] == 12, d
assert d["simulated"] and not d["missing_parts"] and not d["mismatched"] and not d["unlinked"], d
(group,) = d["groups"]
assert (group["operation"], group["datatype"], group["ranks"], group["count"], group["mean_bytes"]) == (
    "ncclAllReduce", "bfloat16", 4, 12, 1 << 20), group
worst = d["ranks"][0]
assert worst["rank"] == 2 and worst["cause"] == "compute" and worst["compute_ns"] == late, worst
parts = [worst[k] for k in ("compute_ns", "copy_ns", "earlier_ns", "host_ns", "idle_ns")]
assert worst["explained"] and all(p is not None for p in parts)' "$late_ms"
	# The parts of each operation add up to its lateness, to the nanosecond.
	"$rtl" collectives --csv=operations t.db | python3 -c '
import csv, sys
seen = 0
for o in csv.DictReader(sys.stdin):
    if o["compute_ns"]:
        seen += 1
        assert int(o["late_ns"]) == sum(int(o[k + "_ns"]) for k in ("compute", "copy", "earlier", "host", "idle")), o
assert seen >= 10, seen'
	# Its GPU time is where the tree says: the others work 5 ms a step.
	run -0 "$rtl" tree --by rank --rank 2 --folded t.db
	[[ $output == *"work_a $((12 * (late_ms + 5)))000000"* ]]
}

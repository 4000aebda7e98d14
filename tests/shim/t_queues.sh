#!/bin/sh
# SPDX-License-Identifier: MIT
# t_queues.sh BUILD MODE [keep]: the program prints what must have been counted; and the device does the
# same, in the same order on each queue, with and without the shim.
. "$(dirname "$0")/lib.sh"
mode=$2
[ $# -lt 3 ] || export RTL_RINGS="$3"
program=$build/tests/shim/shim-queues

# What ran, in order: for each queue, or over all queues if one waits for another.
order()
{
	by="-k 2,2 -k 3,3"
	[ "$mode" != waits ] || by="-k 1,1"
	# shellcheck disable=SC2086 # options
	"$build/bin/softgpu-truth" "$@" | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["kernel"] !~ /^softgpu_rocr_/ && $at["flags"] ~ /^done/ {
			print $at["start_tick"], $at["queue"], $at["packet"], $at["kernel"] }' |
		sort -n $by | cut -d " " -f 2-
}

# A queue that waited for another one ran later, by the wall clock only.
[ "$mode" != waits ] || export SOFTGPU_REALTIME=1
tools=
[ "$mode" != future ] || tools="$build/tests/shim/libshim-future-runtime.so "
env HSA_TOOLS_LIB="$tools" LD_LIBRARY_PATH="$build/lib/softgpu" SOFTGPU_TRUTH="$dir/alone" \
	"$program" "$mode" >"$dir/alone.out" 2>"$dir/err" || die "alone: $?"
collector_start
load=none with_shim HSA_TOOLS_LIB="$tools$shim" RTL_FRONT_END=shadow "$program" "$mode" || die "$?"
collector_stop
cmp -s "$dir/alone.out" "$dir/out" || die "the program itself found another thing"
order "$dir/alone" >"$dir/order.alone"
order "$dir"/truth.* >"$dir/order"
[ -s "$dir/order" ] || die "the device did nothing"
cmp "$dir/order.alone" "$dir/order" || die "another order"
while read -r name value; do
	expect "$name" "$value"
done <"$dir/out"
# Rows with times have the device's times.
truth_list >"$dir/truth"
awk '$1 == "row" && $7 == 0 { print $2, $3, $4, $5, $6 }' "$dir/collected" | sort >"$dir/timed"
[ -z "$(comm -13 "$dir/truth" "$dir/timed")" ] || die "times that never were"
[ "$(counter dispatched)" = "$(grep -c '^row' "$dir/collected")" ] || die "rows are missing"

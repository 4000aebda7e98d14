#!/bin/sh
# SPDX-License-Identifier: MIT
# t_killed.sh BUILD_DIR MODE: a process that is killed leaves everything in its recorder; each dispatch is
# in a frame or in a slot, and none in both.
. "$(dirname "$0")/lib.sh"

collector_start
with_shim "$build/bin/rtl-demo" --ranks 2 --steps 20 --exit-mode "$2"
collector_stop
truth_list >"$dir/truth"
rows_list >"$dir/rows"
[ -s "$dir/truth" ] || die "the device did nothing"
[ "$(comm -13 "$dir/truth" "$dir/rows" | wc -l)" = 0 ] || die "rows that never happened"
[ "$(sort -u "$dir/rows" | wc -l)" = "$(wc -l <"$dir/rows")" ] || die "rows twice"
left=$(awk '$1 == "process" { n += $10 + $11 } END { print n + 0 }' "$dir/collected")
[ "$(($(wc -l <"$dir/rows") + left))" = "$(counter dispatched)" ] ||
	die "$(wc -l <"$dir/rows") rows and $left slots of $(counter dispatched) dispatches"
expect dispatched "$(wc -l <"$dir/truth")"

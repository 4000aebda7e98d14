#!/bin/sh
# SPDX-License-Identifier: MIT
# roctx ranges by LD_PRELOAD: a dispatch knows the innermost range of its thread.
. "$(dirname "$0")/lib.sh"
load=preload

collector_start
with_shim "$build/tests/shim/shim-life" ranges || die "shim-life: $?"
collector_stop
compare_timed
outer=$(awk '$1 == "marker" && $3 == 1 && /before the runtime/ { print $4 }' "$dir/collected")
inner=$(awk '$1 == "marker" && $3 == 1 && /inner/ { print $4 }' "$dir/collected")
[ -n "$outer" ] && [ -n "$inner" ] || die "ranges are missing"
grep -q "^marker [0-9]* 1 $inner $outer inner\$" "$dir/collected" || die "inner is not in outer"
[ "$(awk '$1 == "marker" && $3 == 3' "$dir/collected" | wc -l)" = 2 ] || die "not two ends"
[ "$(awk '$1 == "row" { print $8 }' "$dir/collected" | sort | uniq -c | awk '{ print $1, $2 }' |
	sort | tr '\n' ' ')" = "$(printf '1 0\n2 %s\n3 %s\n' "$outer" "$inner" | sort | tr '\n' ' ')" ] ||
	die "dispatches in the wrong range: $(grep '^row' "$dir/collected")"
expect markers_begun 2
expect markers_ended 2

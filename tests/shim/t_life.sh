#!/bin/sh
# SPDX-License-Identifier: MIT
# t_life.sh BUILD_DIR MODE INSTANCES: programs with an unusual lifetime are recorded completely.
. "$(dirname "$0")/lib.sh"

collector_start
with_shim "$build/tests/shim/shim-life" "$2" || die "shim-life $2: $?"
! grep '^rtl:' "$dir/err" || die "the shim spoke"
collector_stop
dispatched=$(sed -n 's/^dispatched //p' "$dir/out")
if [ "$dispatched" != 0 ]; then
	compare_timed
	[ "$(wc -l <"$dir/rows")" = "$dispatched" ] || die "the program counts $dispatched"
	expect dispatched "$dispatched"
fi
expect symbols_unknown 0
[ "$(grep -c '^process.* 0 0$' "$dir/collected")" = "$3" ] ||
	die "not $3 instances that ended well: $(grep '^process' "$dir/collected")"

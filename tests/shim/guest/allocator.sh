#!/bin/sh
# SPDX-License-Identifier: MIT
# allocator.sh BUILD_DIR LIBRARY: with another allocator preloaded, before and after the shim.
. "$(dirname "$0")/../lib.sh"
library=$(ldconfig -p | awk -v name="$2" '$1 == name && /x86-64/ { print $NF; exit }')
[ -n "$library" ] || die "$2 is not installed: tests/setup.sh test"

collector_start
load=none
for order in "$library $shim" "$shim $library"; do
	with_shim LD_PRELOAD="$order" "$build/tests/shim/guest/shim-guest" return
	[ $? -eq 3 ] && [ "$(cat "$dir/out")" = "dispatched 10" ] || die "it does not run with $order"
	[ ! -s "$dir/err" ] || die "complains with $order"
done
collector_stop
[ "$(grep -c '^process' "$dir/collected")" = 2 ] || die "not two processes"
[ "$(grep -c '^row' "$dir/collected")" = 20 ] || die "not twenty rows"

#!/bin/sh
# SPDX-License-Identifier: MIT
# children.sh BUILD_DIR: children that libc does not know of run as without the shim, whatever they call, and
# their parent's records contain only the parent's calls.
. "$(dirname "$0")/../lib.sh"
guest=$build/tests/shim/guest/shim-guest

env LD_LIBRARY_PATH="$build/lib/softgpu" "$guest" children_call >"$dir/out.alone" 2>"$dir/err" </dev/null ||
	die "without the shim: $?"
collector_start
load=preload
for mode in standard full; do
	with_shim env -u SOFTGPU_TRUTH RTL_MODE=$mode "$guest" children_call </dev/null ||
		die "in mode $mode: $?"
	cmp -s "$dir/out.alone" "$dir/out" || { diff "$dir/out.alone" "$dir/out"; die "other ends in $mode"; }
	[ ! -s "$dir/err" ] || die "complains in mode $mode"
done
collector_stop
[ "$(grep -c '^process' "$dir/collected")" = 2 ] || die "not two processes"
[ "$(grep -c '^row' "$dir/collected")" = 20 ] || die "not twenty rows"
# Counts of the parents; a child that shares memory adds its mark, which is not counted.
expect markers_begun 2
expect markers_ended 2
expect collectives_recorded 0
expect copies_recorded 0

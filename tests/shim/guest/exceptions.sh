#!/bin/sh
# SPDX-License-Identifier: MIT
# exceptions.sh BUILD_DIR: exceptions and the end of a thread pass through our wrappers; what returns
# after them is recorded.
. "$(dirname "$0")/../lib.sh"
program=$build/tests/shim/guest/shim-guest-exceptions

env LD_LIBRARY_PATH="$build/lib/softgpu" "$program" >"$dir/out.alone" 2>"$dir/err.alone" </dev/null
alone=$?
[ $alone -ne 99 ] && grep -q '^caught thirteen' "$dir/out.alone" && grep -q '^ended' "$dir/out.alone" ||
	die "it does not work without the shim: $alone"
collector_start
load=none
with_shim env RTL_MODE=hip LD_PRELOAD="$build/lib/librtl-calls.so $shim" "$program" </dev/null
with=$?
collector_stop
[ $with -eq $alone ] || die "it ends with $with, not $alone"
cmp -s "$dir/out.alone" "$dir/out" || { diff "$dir/out.alone" "$dir/out"; die "it prints otherwise"; }
cmp -s "$dir/err.alone" "$dir/err" || die "it complains"
expect calls_begun 60
expect calls_recorded 10
expect collectives_recorded 10

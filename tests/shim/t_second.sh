#!/bin/sh
# SPDX-License-Identifier: MIT
# A second runtime in the process: the first is still recorded completely, and one line reports it.
. "$(dirname "$0")/lib.sh"

collector_start
with_shim "$build/tests/shim/shim-life" second_runtime || die "shim-life second_runtime: $?"
collector_stop
[ "$(grep -c '^rtl: .*second HSA runtime' "$dir/err")" = 1 ] || die "not one line about it"
[ "$(grep -c '^rtl:' "$dir/err")" = 1 ] || die "more than one line"
expect runtimes_ignored 1
compare_timed
[ "$(grep -c '^process.* 0 0$' "$dir/collected")" = 1 ] || die "not one instance that ended well"

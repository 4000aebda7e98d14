#!/bin/sh
# SPDX-License-Identifier: MIT
# memcheck.sh BUILD_DIR: runs the runtime under valgrind. What memcheck reports belongs to the runtime and has
# no frame of the shim. Leaks are looked for elsewhere: a summary of them names no frame. Threads take turns: else one that
# spins may take valgrind's lock again and again while the one that it waits for has none.
. "$(dirname "$0")/../lib.sh"

collector_start
for mode in return return_early exit_on_thread; do
	case $mode in return*) status=3 ;; *) status=9 ;; esac
	with_shim env -u SOFTGPU_TRUTH valgrind --leak-check=no --fair-sched=yes --log-file="$dir/log.$mode" "$build/tests/shim/guest/shim-guest" \
		$mode </dev/null
	ended=$?
	[ $ended -eq $status ] || { tail "$dir/log.$mode"; die "$mode ends with $ended"; }
	grep -q 'ERROR SUMMARY' "$dir/log.$mode" || die "memcheck says nothing of $mode"
	! grep -q 'librtl-' "$dir/log.$mode" || { cat "$dir/log.$mode"; die "errors of ours in $mode"; }
	[ ! -s "$dir/err" ] || die "$mode complains"
done
collector_stop
[ "$(grep -c '^process' "$dir/collected")" = 3 ] || die "not all processes were recorded"

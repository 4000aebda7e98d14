#!/bin/sh
# SPDX-License-Identifier: MIT
# A program whose profiler cannot create a thread runs as usual. The collector knows the process, and is told
# that its queue is not recorded.
. "$(dirname "$0")/../lib.sh"

collector_start
with_shim env -u SOFTGPU_TRUTH LD_PRELOAD="$build/tests/shim/guest/libguest-no-thread.so" \
	"$build/tests/shim/guest/shim-guest" return
[ $? = 3 ] || die "shim-guest return: not its own status"
collector_stop
grep -q '^dispatched [1-9]' "$dir/out" || die "nothing was dispatched"
[ "$(grep -c '^rtl: cannot record: Resource temporarily unavailable; ' "$dir/err")" = 1 ] ||
	die "not one line about it"
[ "$(grep -c '^rtl:' "$dir/err")" = 1 ] || die "more than one line"
[ "$(grep -c '^process' "$dir/collected")" = 1 ] || die "the collector does not know of it"
grep -qx 'unrecorded 0' "$dir/collected" || die "it says that it has no recorder, too"
expect queues_created 1
expect queues_ineligible 1

#!/bin/sh
# SPDX-License-Identifier: MIT
# RTL_DEBUG: calls in the order in which the program makes them, on stderr and nowhere else.
. "$(dirname "$0")/lib.sh"

lines() { grep -c "^rtl: $1" "$dir/err"; }

collector_start
with_shim RTL_DEBUG=1 "$build/bin/rtl-demo" --ranks 1 --steps 2 || die "1: $?"
[ "$(lines hsa_queue_create)" = 2 ] && [ "$(lines hsa_queue_destroy)" = 2 ] || die "queues"
[ "$(lines hsa_executable_freeze)" -gt 0 ] || die "code"
[ "$(lines hsa_signal_create)" = 0 ] || die "signals are for 2"
grep -q '^rtl: signals are ours$' "$dir/err" || die "signals"
grep -q "^rtl: the clock is the thunk's\$" "$dir/err" || die "the clock"
grep -q '^rtl: .*ROCm 5 by its tables.*front end shadow' "$dir/err" || die "the runtime"
with_shim RTL_DEBUG=2 "$build/bin/rtl-demo" --ranks 1 --steps 2 || die "2: $?"
[ "$(lines hsa_signal_create)" -gt 0 ] && [ "$(lines hsa_signal_destroy)" -gt 0 ] || die "signals"
[ "$(lines 'hsa_amd_memory_async_copy')" -gt 0 ] || die "copies"
collector_stop
compare_truth

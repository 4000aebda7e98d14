#!/bin/sh
# SPDX-License-Identifier: MIT
# What the shim prints and costs if there is nothing to record or no collector.
. "$(dirname "$0")/lib.sh"

# No collector: one line, the program's own output and status.
with_shim "$build/bin/rtl-demo" --ranks 1 --steps 2 || die "rtl-demo without a collector: $?"
[ "$(grep -c '^rtl: no collector at .*socket: .*; nothing is stored unless one comes$' "$dir/err")" = 1 ] ||
	die "not one line about the missing collector"
[ "$(grep -c '^rtl:' "$dir/err")" = 1 ] || die "more than one line"
grep -q '^dispatched rank=0 gpu=0 kernels=' "$dir/out" || die "the program lost its output"

# Of a launch the first rank says it for all, also where others alone are to be recorded.
for choice in RTL_RANKS=0-2 RTL_RANKS=2 RTL_GPUS=2; do
	with_shim $choice "$build/bin/rtl-demo" --ranks 3 --one-gpu-each --steps 2 || die "three ranks without a collector, $choice: $?"
	[ "$(grep -c '^rtl:' "$dir/err")" = 1 ] || die "not one line of three ranks, $choice"
done

# No collector, but nothing to record either: many programs only query the GPUs.
with_shim "$build/bin/rtl-demo" --ranks 1 --init-only || die "rtl-demo --init-only: $?"
! grep '^rtl:' "$dir/err" || die "spoke though there was nothing to record"

# RTL_MODE=off: no line either.
with_shim RTL_MODE=off "$build/bin/rtl-demo" --ranks 1 --steps 2 || die "rtl-demo, off: $?"
! grep '^rtl:' "$dir/err" || die "spoke though it is off"

# A program without the runtime: no output, no thread, no descriptor.
load=preload
with_shim sh -c 'ls -l /proc/self/fd; cat /proc/self/status' || die "ls: $?"
[ ! -s "$dir/err" ] || die "spoke in a program without the runtime"
! grep memfd "$dir/out" || die "a descriptor in a program without the runtime"
grep -q '^Threads:[[:space:]]*1$' "$dir/out" || die "a thread in a program without the runtime"

# The runtime without a dispatch: the collector knows the process and nothing else.
load=both
collector_start
with_shim "$build/bin/rtl-demo" --ranks 1 --init-only || die "rtl-demo --init-only: $?"
! grep '^rtl:' "$dir/err" || die "spoke without a reason"
collector_stop
[ "$(grep -c '^row' "$dir/collected")" = 0 ] || die "rows without a dispatch"
[ "$(grep -c '^process' "$dir/collected")" = 1 ] || die "not known, or installed twice"

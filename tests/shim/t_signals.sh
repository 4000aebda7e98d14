#!/bin/sh
# SPDX-License-Identifier: MIT
# Dispatches with the application's own signals: the signals are not changed, and their times are read.
. "$(dirname "$0")/lib.sh"

collector_start
with_shim "$build/bin/rtl-demo" --ranks 1 --steps 30 --signal-every 3 || die "rtl-demo: $?"
collector_stop
compare_timed
own=$(sed -n 's/.*own signals=\([0-9]*\) .*/\1/p' "$dir/err")
[ "${own:-0}" -gt 0 ] || die "the program used no signals of its own"
expect own_signals_seen "$own"
expect own_signals_read "$((own - untimed))"

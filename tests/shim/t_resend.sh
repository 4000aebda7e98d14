#!/bin/sh
# SPDX-License-Identifier: MIT
# A collector that closes the connection after every frame: everything arrives once all the same. What was
# not sent before the end is read from the recorder.
. "$(dirname "$0")/lib.sh"

collector_start --drop-after 1
with_shim "$build/bin/rtl-demo" --ranks 2 --steps 150 || die "rtl-demo: $?"
collector_stop
compare_truth
[ "$(awk '$1 == "process" { n += $7 } END { print n }' "$dir/collected")" -gt 2 ] ||
	die "there was no second connection: nothing was tested"
expect recorded "$(wc -l <"$dir/truth")"

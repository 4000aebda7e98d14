#!/bin/sh
# SPDX-License-Identifier: MIT
# on_load.sh BUILD_DIR: what OnLoad costs the thread that calls hsa_init, in instructions, which are the
# same on a loaded machine: tests/bench/on_load.sh has the time. 300,000 are a fifth of a millisecond.
. "$(dirname "$0")/../shim/lib.sh"
INSTRUCTIONS_MAX=600000

collector_start
with_shim env -u SOFTGPU_TRUTH valgrind --tool=callgrind --callgrind-out-file="$dir/profile" \
	--toggle-collect=OnLoad "$build/tests-bin/on-load" 0 </dev/null || die "does not run: $?"
collector_stop
[ "$(grep -c '^process' "$dir/collected")" = 1 ] || die "not recorded"
spent=$(awk '$1 == "summary:" || $1 == "totals:" { print $2; exit }' "$dir/profile")
echo "OnLoad: $spent instructions"
# Fewer than any start could do with: callgrind has not seen it.
[ "${spent:-0}" -gt 20000 ] || die "callgrind saw only ${spent:-nothing}"
[ "$spent" -le $INSTRUCTIONS_MAX ] || die "$spent instructions, more than $INSTRUCTIONS_MAX"

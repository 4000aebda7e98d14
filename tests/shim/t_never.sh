#!/bin/sh
# SPDX-License-Identifier: MIT
# A kernel that never ends does not keep the program from ending: what has ended is stored, the kernel
# is in the recorder as submitted, and there is no Bye.
. "$(dirname "$0")/lib.sh"

exit_ms=50

collector_start
with_shim SOFTGPU_FAULT='kernel beta fault=never' "$build/tests/shim/shim-life" never ||
	die "shim-life never: $?"
collector_stop
[ "$(sed -n 's/^dispatched //p' "$dir/out")" = 2 ] || die "the program did not reach its end"
expect dispatched 2
expect recorded 1
[ "$(grep -c '^row .* alpha.kd ' "$dir/collected")" = 1 ] || die "alpha is not there"
grep -q '^process [0-9]* [-0-9]* [0-9]* 1 0 1 .* 0 1$' "$dir/collected" ||
	die "not one frame, no Bye, one in flight: $(grep '^process' "$dir/collected")"

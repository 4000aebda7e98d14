#!/bin/sh
# SPDX-License-Identifier: MIT
# Another profiler's roctx behind ours gets every call and answers it.
. "$(dirname "$0")/lib.sh"

"$build/tests/shim/shim-roctx" >"$dir/alone" 2>"$dir/err" || die "without the shim: $?"
[ "$(cat "$dir/alone")" = "41 42 4300000000 5" ] || die "the library itself: $(cat "$dir/alone")"
env LD_PRELOAD="$shim" LD_DEBUG=bindings LD_DEBUG_OUTPUT="$dir/bindings" \
	"$build/tests/shim/shim-roctx" >"$dir/out" 2>"$dir/err" || die "with the shim: $?"
cmp -s "$dir/alone" "$dir/out" || die "with the shim: $(cat "$dir/out")"
[ ! -s "$dir/err" ] || die "the shim spoke"
grep -q 'shim-roctx .* to .*librtl-shim.so .*roctxRangePushA' "$dir"/bindings.* ||
	die "the program was not bound to the shim: nothing was tested"

#!/bin/sh
# SPDX-License-Identifier: MIT
# The roctx library of another profiler behind ours gets every call, and its result is returned.
. "$(dirname "$0")/lib.sh"

# chained PROGRAM [ARGUMENT]: prints the same with and without the shim, and is bound to the shim.
chained()
{
	"$@" >"$dir/alone" 2>"$dir/err" || die "without the shim: $?"
	[ "$(cat "$dir/alone")" = "41 42 4300000000 5" ] || die "the library itself: $(cat "$dir/alone")"
	rm -f "$dir"/bindings.*
	env LD_PRELOAD="$shim" LD_DEBUG=bindings LD_DEBUG_OUTPUT="$dir/bindings" \
		"$@" >"$dir/out" 2>"$dir/err" || die "with the shim: $?"
	cmp -s "$dir/alone" "$dir/out" || die "with the shim: $(cat "$dir/out")"
	[ ! -s "$dir/err" ] || die "the shim spoke"
	grep -q 'shim-roctx.* to .*librtl-shim.so .*roctxRangePushA' "$dir"/bindings.* ||
		die "no call was bound to the shim: nothing was tested"
}

chained "$build/tests/shim/shim-roctx"
# A library that only its user's own scope contains is in no scope behind the shim.
chained "$build/tests/shim/shim-roctx-late" "$build/tests/shim/libshim-roctx-user.so"

# After it was closed and opened globally, our functions still call it.
set -- "$build/tests/shim/shim-roctx-late" "$build/tests/shim/libshim-roctx-user.so" again
[ "$("$@" | wc -l)" = 2 ] || die "again, without the shim"
again=$(LD_PRELOAD="$shim" "$@") || die "opened again: $?"
[ "$(echo "$again" | cut -d' ' -f1-3)" = "41 42 4300000000
41 42 4300000000" ] || die "opened again: $again"

# Several threads make the first call at the same time, in each of its processes.
alone=$("$build/tests/shim/shim-roctx-threads") || die "alone: $?"
[ "$alone" = "100 of 100" ] || die "the library itself: $alone"
with=$(LD_PRELOAD="$shim" "$build/tests/shim/shim-roctx-threads") || die "with the shim: $?"
[ "$with" = "$alone" ] || die "calls of the first moment: $with processes right"

# Without a library every call searches for one that may have been loaded, without allocating, so that
# signal handlers may call.
[ "$(LD_PRELOAD="$shim" "$build/tests/shim/shim-roctx-alone")" = never ] || die "without a library: $?"

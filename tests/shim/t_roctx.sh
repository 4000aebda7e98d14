#!/bin/sh
# SPDX-License-Identifier: MIT
# Another profiler's roctx behind ours gets every call and answers it.
. "$(dirname "$0")/lib.sh"

# chained PROGRAM [ARGUMENT]: the same with and without us, and bound to us.
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
		die "nobody was bound to the shim: nothing was tested"
}

chained "$build/tests/shim/shim-roctx"
# A library that only its user's own scope holds: behind us in no scope of ours.
chained "$build/tests/shim/shim-roctx-late" "$build/tests/shim/libshim-roctx-user.so"

# Closed and opened again for all: ours still has its functions.
set -- "$build/tests/shim/shim-roctx-late" "$build/tests/shim/libshim-roctx-user.so" again
[ "$("$@" | wc -l)" = 2 ] || die "again, without the shim"
again=$(LD_PRELOAD="$shim" "$@") || die "opened again: $?"
[ "$(echo "$again" | cut -d' ' -f1-3)" = "41 42 4300000000
41 42 4300000000" ] || die "opened again: $again"

# Several threads at once come first, in each of its processes.
alone=$("$build/tests/shim/shim-roctx-threads") || die "alone: $?"
[ "$alone" = "100 of 100" ] || die "the library itself: $alone"
with=$(LD_PRELOAD="$shim" "$build/tests/shim/shim-roctx-threads") || die "with the shim: $?"
[ "$with" = "$alone" ] || die "calls of the first moment: $with processes right"

# Without a library every call looks for one that may have come: with no memory, for handlers.
[ "$(LD_PRELOAD="$shim" "$build/tests/shim/shim-roctx-alone")" = never ] || die "without a library: $?"

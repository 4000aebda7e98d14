#!/bin/sh
# SPDX-License-Identifier: MIT
# modes.sh BUILD [RUNS]: ns of the submitting thread's CPU time per dispatch, without us and in each
# mode and front end, interleaved; median of RUNS medians [least]. The collector drains meanwhile.
set -eu
build=$1 runs=${2:-5}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

once() { # once NAME SIGNALS VARIABLE...
	name=$1 signals=$2
	shift 2
	if [ "$name" = none ]; then
		env LD_LIBRARY_PATH="$build/lib/softgpu" "$build/tests-bin/dispatch-cost" 20 $signals
	else
		env "$@" "$build/bin/rtl" run -q -f -o "$dir/t.db" --device soft -- \
			"$build/tests-bin/dispatch-cost" 20 $signals
	fi >>"$dir/$name$signals"
}

for signals in "" signals; do
	for _ in $(seq "$runs"); do
		once none "$signals"
		once standard "$signals" RTL_MODE=standard
		once lite "$signals" RTL_MODE=lite
		once full "$signals" RTL_MODE=full
		once intercept "$signals" RTL_FRONT_END=intercept-unsafe
		once lite-intercept "$signals" RTL_FRONT_END=intercept-unsafe RTL_MODE=lite
	done
	echo "${signals:-no signals} (ns per dispatch)"
	for name in none standard lite full intercept lite-intercept; do
		sort -n "$dir/$name$signals" | awk -v name="$name" '
			{ median[NR] = $1; if (!least || $2 < least) least = $2 }
			END { printf "  %-15s %5d  [%d]\n", name, median[int((NR + 1) / 2)], least }'
	done
done

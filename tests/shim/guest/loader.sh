#!/bin/sh
# SPDX-License-Identifier: MIT
# loader.sh BUILD_DIR MODE PROCESSES [LINE]: a program that opens its runtime privately behaves the same with
# and without the shim, and is recorded completely. LINE: the one line that the shim prints.
. "$(dirname "$0")/../lib.sh"
loader=$build/tests/shim/guest/shim-guest-loader
plugin=$build/tests/shim/guest/libguest-work.so
mode=$2
line=${4:-}
runtime=$(ldconfig -p | awk '$1 == "libhsa-runtime64.so.1" { print $NF; exit }')

processes=$3
case $mode in
two | forked)
	# Files with other names, and their own thunk; names of the same length change no offsets.
	for file in "$runtime" "$build/lib/softgpu/libhsakmt.so.1" "$plugin"; do
		sed 's/libhsa-runtime64\.so/libhsa-runtime65.so/g; s/libhsakmt\.so/libhsakm2.so/g' "$file" \
			>"$dir/$(basename "$file" | sed 's/64/65/; s/kmt/km2/')"
	done
	more=$dir/libguest-work.so
	;;
tls)
	more=
	for i in $(seq 100); do
		cp "$build/tests/shim/guest/libguest-tls.so" "$dir/tls.$i.so"
		more="$more $dir/tls.$i.so"
	done
	;;
*) more= ;;
esac
# The shim in the program's own namespace decides which copy records the process.
case $mode in
apart_*) load=preload unrecorded=1 ;;
forked) unrecorded=1 ;;
*) unrecorded=0 ;;
esac

# shellcheck disable=SC2086 # a list
env LD_LIBRARY_PATH="$build/lib/softgpu:$dir" "$loader" "$mode" "$plugin" $more \
	>"$dir/out.alone" 2>"$dir/err" </dev/null || die "without the shim: $?"
[ ! -s "$dir/err" ] || die "complains without the shim"
collector_start
# shellcheck disable=SC2086 # a list
with_shim env -u SOFTGPU_TRUTH LD_LIBRARY_PATH="$build/lib/softgpu:$dir" "$loader" "$mode" "$plugin" $more \
	</dev/null || die "with the shim: $?"
cmp -s "$dir/out.alone" "$dir/out" || { diff "$dir/out.alone" "$dir/out"; die "prints otherwise"; }
collector_stop
if [ -n "$line" ]; then
	[ "$(grep -c "$line" "$dir/err")" = 1 ] || die "not one line like: $line"
	[ "$(grep -c '^rtl:' "$dir/err")" = 1 ] || die "more than one line"
else
	[ ! -s "$dir/err" ] || die "complains with the shim"
fi
[ "$(grep -c '^process' "$dir/collected")" = "$processes" ] || die "not $processes processes"
grep -qx "unrecorded $unrecorded" "$dir/collected" || die "not $unrecorded unrecorded"
expect runtimes_ignored "$([ "$mode" = two ] && echo 1 || echo 0)"
told=$(awk '/^dispatched / { print $2 }' "$dir/out")
[ "$(grep -c '^row' "$dir/collected")" = "$told" ] ||
	die "$(grep -c '^row' "$dir/collected") rows of $told dispatches"

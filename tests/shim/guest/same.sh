#!/bin/sh
# SPDX-License-Identifier: MIT
# same.sh BUILD_DIR MODE PROCESSES [LINE]: shim-guest MODE ends with the same status and prints the
# same with and without the shim. The collector has PROCESSES processes of it, and each dispatch that they
# report once. LINE: a pattern for the one line that the shim prints if it does not record.
. "$(dirname "$0")/../lib.sh"
guest=$build/tests/shim/guest/shim-guest
mode=$2
line=${4:-}

env LD_LIBRARY_PATH="$build/lib/softgpu" "$guest" "$mode" >"$dir/out.alone" 2>"$dir/err.alone" </dev/null
alone=$?
[ $alone -ne 99 ] && [ $alone -ne 127 ] || { cat "$dir/err.alone"; die "$mode does not work without the shim"; }
# A signal that ends the program early in both runs would leave nothing to compare.
case $mode in
abort* | segv | killed_* | thread_*) ;;
*) [ $alone -le 128 ] || die "$mode is ended by signal $((alone - 128)) without the shim" ;;
esac
collector_start
with_shim env -u SOFTGPU_TRUTH "$guest" "$mode" </dev/null
with=$?
# The place in the runtime where a thread ends decides which signal ends the program.
case $mode in
thread_*)
	for run in alone with; do
		eval "[ \$$run -ne 139 ] || $run=134"
	done
	sed -i '/^Segmentation fault\|^Aborted/d' "$dir/err.alone" "$dir/err"
	;;
esac
[ $alone -eq $with ] || die "$mode ends with $with, not $alone"
cmp -s "$dir/out.alone" "$dir/out" || { diff "$dir/out.alone" "$dir/out"; die "$mode prints otherwise"; }
collector_stop
# The place in the runtime where a thread ends decides which message C++ prints.
case $mode in
thread_*) sed -i '/^terminate called\|Unhandled exception/d' "$dir/err.alone" "$dir/err" ;;
esac
# A leak checker prints numbers of threads that a child does not have.
sed -i '/^==[0-9]*==Running thread [0-9]* was not suspended/d' "$dir/err.alone" "$dir/err"
if [ -n "$line" ]; then
	[ "$(grep -c "$line" "$dir/err")" = 1 ] || die "not one line like: $line"
	[ "$(grep -c '^rtl:' "$dir/err")" = 1 ] || die "more than one line"
else
	cmp -s "$dir/err.alone" "$dir/err" || { diff "$dir/err.alone" "$dir/err"; die "$mode complains"; }
fi
[ "$(grep -c '^process' "$dir/collected")" = "$3" ] ||
	die "not $3 processes: $(grep '^process' "$dir/collected")"
# A process without a recorder reports that to the collector, if it can.
case $mode$line in
*family*"cannot record"*) told=3 ;;
*"cannot record"*) told=1 ;;
*) told=0 ;;
esac
grep -qx "unrecorded $told" "$dir/collected" || die "$(grep unrecorded "$dir/collected"), not $told"
[ "$3" != 0 ] || exit 0
# Threads that dispatch until they are stopped do not count their dispatches.
case $mode in *threads) exit 0 ;; esac
told=$(awk '/^dispatched / { n += $2 } END { print n + 0 }' "$dir/out")
left=$(awk '$1 == "process" { n += $10 + $11 } END { print n + 0 }' "$dir/collected")
rows=$(grep -c '^row' "$dir/collected")
[ $((rows + left)) -ge "$told" ] || die "$rows rows and $left slots, but $told dispatches"
# Each instance of one pid counts from 0.
awk -v most="$3" '$1 == "seq" && ++n[$2 " " $3 " " $4] > most { bad = 1 } END { exit bad }' \
	"$dir/collected" || die "rows twice"

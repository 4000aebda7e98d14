#!/bin/sh
# SPDX-License-Identifier: MIT
# t_other_tool.sh BUILD before|after wraps|intercepts|submits: the program and the other tool see
# what they see without the shim, and the shim records all of it or prints that it does not.
. "$(dirname "$0")/lib.sh"
when=$2 what=$3
other=$build/tests/shim/libshim-other-tool.so
demo="$build/bin/rtl-demo --ranks 1 --steps 5"

[ "$when" = before ] && tools="$other $shim" || tools="$shim $other"
told() { grep '^dispatched' "$1"; }

# The tool alone.
# shellcheck disable=SC2086 # words
env LD_LIBRARY_PATH="$build/lib/softgpu" HSA_TOOLS_LIB="$other" OTHER_TOOL="$what" \
	OTHER_TOOL_LOG="$dir/log.alone" $demo >"$dir/out.alone" 2>"$dir/err" || die "alone: $?"

collector_start
# shellcheck disable=SC2086 # words
load='' with_shim HSA_TOOLS_LIB="$tools" OTHER_TOOL="$what" OTHER_TOOL_LOG="$dir/log" \
	$demo || die "with us: $?"
collector_stop
cmp -s "$dir/log.alone" "$dir/log" || die "the tool saw $(cat "$dir/log"), not $(cat "$dir/log.alone")"
[ "$(told "$dir/out")" = "$(told "$dir/out.alone")" ] || die "the program did something else"

# A tool that creates the queues may pass our signals to the runtime, so the runtime's are used then.
[ "$when" = before ] && whose="the runtime's" || whose=ours
# shellcheck disable=SC2086 # words
env LD_LIBRARY_PATH="$build/lib/softgpu" HSA_TOOLS_LIB="$tools" OTHER_TOOL="$what" RTL_DEBUG=1 \
	OTHER_TOOL_LOG="$dir/log.debug" $demo >/dev/null 2>"$dir/err.debug" || die "RTL_DEBUG: $?"
grep -q "^rtl: signals are $whose\$" "$dir/err.debug" || die "signals are not $whose"

case $when-$what in
before-intercepts | before-submits)
	# The shim must not follow these queues: nothing is recorded, one line names the tool, queues are counted.
	[ "$(grep -c '^rtl: .*libshim-other-tool.so' "$dir/err")" = 1 ] || die "not one line about it"
	[ "$(grep -c '^rtl:' "$dir/err")" = 1 ] || die "more than one line"
	[ "$(rows_list | wc -l)" = 0 ] || die "rows of another tool's queues"
	expect queues_ineligible "$(counter queues_created)"
	[ "$(counter queues_created)" -gt 0 ] || die "its queues are not counted"
	;;
*)
	compare_truth
	[ "$(grep -c '^rtl:' "$dir/err")" = 0 ] || die "it is not silent"
	expect queues_ineligible 0
	[ "$what" = intercepts ] && expect queues_intercepted "$(counter queues_created)"
	;;
esac
exit 0

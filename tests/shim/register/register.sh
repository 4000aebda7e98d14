#!/bin/sh
# SPDX-License-Identifier: MIT
# register.sh BUILD_DIR HOW WHEN WHAT LOAD RECORDED [VARIABLE=VALUE...]: a program whose runtime registers its tables at
# rocprofiler-register, with a stand-in for rocprofiler-sdk behind that (HOW and WHEN: register_main.c; WHAT the SDK does
# to the tables: other_tool.c). LOAD is preload, or tools for HSA_TOOLS_LIB alone. Program, SDK and rocprofiler-register see
# what they see without the shim. RECORDED is all; off, where no
# record is wanted; or the words of the one line that says why there is none. Instead of variables,
# second: another tool in HSA_TOOLS_LIB does the same beside the SDK.
. "$(dirname "$0")/../lib.sh"
how=$2 when=$3 what=$4 load=$5 recorded=$6
shift 6
folder=$build/tests/shim/register

# under NAME COMMAND...: starts the program with COMMAND; the logs of NAME belong to this run.
under()
{
	name=$1
	shift
	# shellcheck disable=SC2086 # words
	"$@" $variables LD_LIBRARY_PATH="$build/lib/softgpu" OTHER_TOOL="$what" OTHER_TOOL_LOG="$dir/log.$name" \
		REGISTER_LOG="$dir/registered.$name" SDK_TOOL="$build/tests/shim/libshim-other-tool.so" \
		"$folder/shim-register" "$how" "$when" 40 "$build/tests/shim/guest/libguest-work.so" \
		"$folder/libshim-later-runtime.so" "$folder/libshim-sdk.so" </dev/null
}
variables=$*
if [ "$variables" = second ]; then
	cp "$build/tests/shim/libshim-other-tool.so" "$dir/second.so"
	variables="HSA_TOOLS_ROCPROFILER_V1_TOOLS=1 HSA_TOOLS_LIB=$dir/second.so"
fi

under alone env >"$dir/out.alone" 2>"$dir/err" || die "without the shim: $?"
[ ! -s "$dir/err" ] || die "complains without the shim"
grep -q '^registered hsa version 11800 tables 1$' "$dir/registered.alone" || die "nothing is registered"
[ "$when" = never ] || [ -s "$dir/log.alone" ] || die "the SDK saw nothing"

collector_start
under with with_shim env || die "with the shim: $?"
collector_stop
cmp -s "$dir/out.alone" "$dir/out" || die "prints otherwise: $(cat "$dir/out")"
cmp -s "$dir/registered.alone" "$dir/registered.with" || die "rocprofiler-register gets something else"
[ "$when" = never ] || cmp -s "$dir/log.alone" "$dir/log.with" ||
	die "the SDK saw $(cat "$dir/log.with"), not $(cat "$dir/log.alone")"

told=$(awk '/^dispatched / { print $2 }' "$dir/out")
rows=$(grep -c '^row' "$dir/collected")
if [ "$recorded" = all ]; then
	[ ! -s "$dir/err" ] || die "complains with the shim"
	[ "$rows" = "$told" ] || die "$rows rows of $told dispatches"
	expect queues_ineligible 0
	exit 0
fi
if [ "$recorded" = off ]; then
	[ ! -s "$dir/err" ] || die "complains with the shim"
	[ "$(grep -c '^process' "$dir/collected")" = 0 ] || die "the shim is not off"
	exit 0
fi
[ "$(grep -c "$recorded" "$dir/err")" = 1 ] || die "not one line like: $recorded"
[ "$(grep -c '^rtl:' "$dir/err")" = 1 ] || die "more than one line"
if [ "$when" = twice ]; then
	# What was recorded until the table was restored stays.
	[ "$rows" -lt "$told" ] || die "$rows rows of $told dispatches"
	expect runtimes_ignored 1
	exit 0
fi
[ "$rows" = 0 ] || die "rows of queues that are not followed"
[ "$(counter queues_created)" -gt 0 ] || die "its queues are not counted"
expect queues_ineligible "$(counter queues_created)"

#!/bin/bash
# SPDX-License-Identifier: MIT
# Sets up, builds and passes every test: release, ASan+UBSan, TSan. `--long` runs the full
# counts of the reliability tests; `--only REGEX` picks tests (of ctest's names).
set -euo pipefail
cd "$(dirname "$0")"

only=""
long=""
while [ $# -gt 0 ]; do
	case "$1" in
	--long) long=1 ;;
	--only)
		only="${2:?test.sh: --only needs a regular expression}"
		shift
		;;
	*)
		echo "test.sh: unknown option '$1'; usage: ./test.sh [--long] [--only REGEX]" >&2
		exit 2
		;;
	esac
	shift
done

tests/setup.sh test
jobs=$(nproc)
passed=0
failed=0
mkdir -p build

# The first NAME="NUMBER" of ctest's report.
attribute() {
	grep -om1 "[[:space:]]$1=\"[0-9]*\"" "$2" | tr -dc 0-9
}

# run PRESET BUILD_DIR CTEST_ARG...: build (what the preset names, else all), run, add to the totals.
run() {
	local preset=$1 dir=$2 log
	shift 2
	log=build/$preset.log
	echo "== $preset: build =="
	if ! { cmake --preset "$preset" && cmake --build --preset "$preset" -j "$jobs"; } >"$log" 2>&1; then
		tail -n 60 "$log"
		echo "test.sh: $preset does not build; the log is $log" >&2
		exit 1
	fi
	echo "== $preset: test =="
	[ -z "$only" ] || set -- -R "$only"
	(cd "$dir" && ctest -j "$jobs" --output-on-failure --no-tests=ignore \
		--output-junit junit.xml "$@") || true
	local total bad
	total=$(attribute tests "$dir/junit.xml")
	bad=$(attribute failures "$dir/junit.xml")
	passed=$((passed + total - bad))
	failed=$((failed + bad))
}

export LSAN_OPTIONS=suppressions=$PWD/tests/lsan.supp:print_suppressions=0
export UBSAN_OPTIONS=print_stacktrace=1
# The runtime is not instrumented: what it synchronises itself is not judged.
export TSAN_OPTIONS=halt_on_error=1:ignore_noninstrumented_modules=1

# Set or not, never empty: the full counts are for whoever asks.
unset RTL_TEST_LONG
[ -z "$long" ] || export RTL_TEST_LONG=1
run release build
unset RTL_TEST_LONG
# Everything again; what holds no code of ours in it need not run twice.
run asan build/asan -E '^(model|lint|systemd)\.'
# All that runs without the runtime, and passes with it.
run tsan build/tsan -R '^(unit|capture|shim)\.|^softgpu\.(direct|script|topology|aql)$'
# What strangers send, made worse; with --long a minute of each target.
[ -z "$long" ] || export RTL_TEST_LONG=1
run fuzz build/fuzz -R '^fuzz\.'

echo
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]

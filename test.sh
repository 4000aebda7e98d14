#!/bin/bash
# SPDX-License-Identifier: MIT
# Sets up, builds and passes every test: release, ASan+UBSan with the corpora of fuzzing, TSan. `--long` fuzzes, runs the full
# counts of the reliability tests, all runtimes, packages in clean roots, and all of it with ASan;
# `--only REGEX` picks tests (of ctest's names).
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

jobs=$(nproc)
passed=0
failed=0
mkdir -p build

# The first NAME="NUMBER" of ctest's report.
attribute() {
	grep -om1 "[[:space:]]$1=\"[0-9]*\"" "$2" | tr -dc 0-9
}

# seconds FILE: of processor time, of what the shell had started that wrote its `times` there.
seconds() {
	LC_ALL=C awk -F'[ms ]+' 'NR == 2 { printf "%.0f", 60 * ($1 + $3) + $2 + $4 }' "$1"
}

tests/setup.sh test
# Tests import Debian's packages for python3. A python3 of pyenv, first on a PATH, takes ten times as long to start.
PATH=/usr/bin:/bin:$PATH
times >build/times
echo "setup: $(seconds build/times) s of processor time"

# build PRESET [BUILD_PRESET]: what the build preset names, else all. Prints the preset, and what it took.
build() {
	(
		cmake --preset "$1" && cmake --build --preset "${2:-$1}" -j "$jobs"
		status=$?
		times >build/times.builds
		exit $status
	) >"build/$1.log" 2>&1 || return
	echo "$1 $(seconds build/times.builds)"
}

# await PRESET: its build.
await() {
	local preset seconds
	echo "== $1: build =="
	if ! read -r -u "$built" preset seconds || [ "$preset" != "$1" ]; then
		tail -n 60 "build/$1.log"
		echo "test.sh: $1 does not build; the log is build/$1.log" >&2
		exit 1
	fi
	echo "$1: build: $seconds s of processor time"
}

# run_ctest DIR REPORT CTEST_ARG...: tests sleep and wait a third of their time: one more than there are processors
# keeps these busy. The report is JUnit's. The processor time is in build/times.tests.
run_ctest() {
	local dir=$1 report=$2
	shift 2
	(
		cd "$dir" || exit
		# Where it does not take a regular expression, ctest runs all tests.
		ctest -N "$@" {built}<&- 2>&1 | { ! grep -A1 '^RegularExpression'; } || exit
		rm -f "$report"
		ctest -j $((jobs + 1)) --output-on-failure --no-tests=ignore --output-junit "$report" "$@" {built}<&- || true
		cd "$OLDPWD" || exit
		times >build/times.tests
	) || { echo "test.sh: ctest does not take its regular expressions" >&2; exit 1; }
}

# run TITLE BUILD_DIR CTEST_ARG...: run, add to the totals.
run() {
	local title=$1 dir=$2 total
	shift 2
	echo "== $title: test =="
	[ -z "$only" ] || set -- -R "$only"
	run_ctest "$dir" junit.xml "$@"
	total=$(attribute tests "$dir/junit.xml")
	bad=$(attribute failures "$dir/junit.xml")
	passed=$((passed + total - bad))
	failed=$((failed + bad))
	echo "$title: test: $(seconds build/times.tests) s of processor time"
}

# run_programs TITLE BUILD_DIR CTEST_ARG...: run, for tests of whole programs, which share two processors with
# builds and other tests. A few that fail are run once more: what fails twice has failed. What passes then is listed at
# the end, below the output of its failure, because it has a race or a deadline that is to be mended.
run_programs() {
	local dir=$2 bad still names
	# Not of those that are run once more: their report has the line of each function.
	RTL_TEST_QUICK=1 run "$@"
	[ "$bad" -gt 0 ] && [ "$bad" -le "$again_max" ] || return 0
	echo "== $1: $bad of them once more =="
	names=$(sed 's/^[0-9]*:/  /' "$dir/Testing/Temporary/LastTestsFailed.log")
	# By name: the numbers that --rerun-failed takes count without the tests that -E leaves out.
	run_ctest "$dir" again.xml -R "^($(sed 's/^[0-9]*://; s/[.]/[.]/g' "$dir/Testing/Temporary/LastTestsFailed.log" | paste -sd '|'))\$"
	[ "$(attribute tests "$dir/again.xml")" -ge "$bad" ] || { echo "test.sh: not each of them was run again" >&2; exit 1; }
	still=$(attribute failures "$dir/again.xml")
	passed=$((passed + bad - still))
	failed=$((failed - bad + still))
	[ "$still" -eq "$bad" ] || unsteady+=$'\n'"$names"
	echo "$1: once more: $(seconds build/times.tests) s of processor time"
}
again_max=3
unsteady=""

# Many cases of what other tests of the same module run: without ASan.
many_cases='^unit\.(query_pages|steps|store_(cache|disk|power)|timeline_(cases|properties))$'

# A database is made and read for each input.
whole_files='^fuzz\.(database|import_rtl|readers)$'

# What asks for the memory that a process takes, which a sanitizer changes.
of_memory='^unit\.(config|store_quota)$'

# What holds no code of ours in it need not run twice. Without --long it is the modules, and what they are sent by strangers:
# a start with ASan takes as long as ten without, and the tests of whole programs run the same code again, of more files,
# users, counts or runtimes. Three programs with the shim run in valgrind (guest.memcheck).
run_asan() {
	local never='^(model|lint|systemd)\.|^integration\.(manual|other_tools|packaging)$'
	local often='^(unit|fuzz)\.'

	if [ -n "$long$only" ]; then
		run asan build/asan -E "$never"
	else
		run asan build/asan -R "$often" -E "$many_cases|$whole_files|$of_memory"
	fi
}

export LSAN_OPTIONS=suppressions=$PWD/tests/lsan.supp:print_suppressions=0
export UBSAN_OPTIONS=print_stacktrace=1
# The runtime is not instrumented: what it synchronises itself is not judged. A thread that closes a file aside
# may still be there where a test forks: its child goes on, unjudged.
export TSAN_OPTIONS=halt_on_error=1:ignore_noninstrumented_modules=1:die_after_fork=0

# The names of the presets that are built. All but the first are built beside the tests of those before them, with
# what these leave of the processors.
exec {built}< <(
	preset=release
	[ -n "$long$only" ] || preset=release-often # all but the tests of modules that need no second run
	build release "$preset" || exit
	renice -n 19 "$BASHPID" >/dev/null
	preset=asan
	[ -n "$long$only" ] || preset=asan-often # what run_asan runs
	build asan "$preset" || exit
	preset=tsan
	[ -n "$long$only" ] || preset=tsan-often # what $threads below names
	build tsan "$preset" || exit
	[ -z "$long$only" ] || build fuzz
)
builder=$!
trap 'kill "$builder" 2>/dev/null || true' EXIT
# The root of tests/runtimes, where this machine has none yet, beside the build; the test runtimes.root waits for it
# and says what goes wrong.
nice -n 19 tests/runtimes/root >build/runtimes.log 2>&1 &

# The variable is unset or 1, never empty; --long asks for the full counts.
unset RTL_TEST_LONG
[ -z "$long" ] || export RTL_TEST_LONG=1
await release
# The same claims of another front end, another way to name libraries, an older runtime, and what bats files set apart; and
# of the models, which no code of ours is in, those with the most states and all but one mistake of each.
apart='^integration\.fidelity_intercept$|_apart$|^calls\.wheels$|^hip\.modes$'
apart+='|^runtimes\.6\.1\.2\.(copies|graphs_.*|guests|hip_calls|hip_copies|hip_events|opened_local|ranks|roctx|signals|system_calls|wheels)$'
apart+='|^runtimes\.7\.2\.4\.(flood_64|graphs_short|opened_cleared|opened_namespace|system_calls)$'
apart+='|^model\.(recorder|events|promela_recovery|promela_recovery_ends|promela_recovery_shut|promela_events|promela_mixed|promela_one_slot)$'
apart+='|^model\.promela_(finds_[2-9]|finds_[1-9][0-9]|channel_finds_[2-9]|recovery_finds_[2-9])$'
# As many users as there may be workers, and more; the lies that unit.drain_lies tells with ASan, in recorders of real
# processes; the questions of answers.whatif, of a recorded job; a short run of each benchmark.
apart+='|^hostile\.(tenant_crowd|recorders)$|^calls\.whatif$|^bench\.programs$'
# What runs with TSan, with the same counts.
apart+='|^capture\.(doze|worker)$'
if [ -n "$long$only" ]; then
	run_programs release build
else
	# The tests of modules run with ASan, and here only what does not, or not all of it.
	run 'release, modules' build -R "$many_cases|$of_memory"
	run_programs release build -E "$apart|^unit\."
fi
if [ -n "$long" ] && [ -z "$only" ]; then
	echo "== runtimes, all of them: test =="
	if tests/runtimes/run --long; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
	fi
	echo "== packages: test =="
	if tests/packaging/run --long; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
	fi
fi
unset RTL_TEST_LONG
await asan
run_asan
# The threads of the product are the shim's, beside those of a program, and the store's: without --long what starts
# neither is left out, and so is what the same threads do in another test or in whole programs.
await tsan
threads='^capture\.|^unit\.(collectord|drain|events|gate|ipc|markers)$|^unit\.store_(aside|rounds)$'
alike='^capture\.crash$'
if [ -n "$long" ]; then
	threads='^(unit|capture|shim)\.|^softgpu\.(direct|script|topology|aql)$' alike='^$'
fi
run tsan build/tsan -R "$threads" -E "$alike"
# What strangers send, made worse: without --long the corpus alone has been fed, with ASan; with it a minute of each.
[ -z "$long" ] || export RTL_TEST_LONG=1
if [ -n "$long$only" ]; then
	await fuzz
	run fuzz build/fuzz -R '^fuzz\.'
fi
wait "$builder" || true

# The processor time of what was started here, builds included.
times >build/times
awk 'NR == 2 { print "\nprocessor time: " $1 " user, " $2 " system" }' build/times
[ -z "$unsteady" ] || printf 'failed at first, and were run once more:%s\n' "$unsteady"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]

#!/bin/sh
# SPDX-License-Identifier: MIT
# check.sh whole|ends|mistake MODEL BOUNDS [LONG]: searches a Promela model exhaustively within
# BOUNDS (-DNAME=VALUE ...), with RTL_TEST_LONG=1 within LONG.
#   whole    no assertion fails, no run stops before its end: "ok: ..."
#   ends     as whole, and no run goes on for ever
#   mistake  the first error is what is wanted: "found: ..."
# Anything else, also a search that was cut short by depth or memory, is a failure.
set -eu

what=$1
model=$2
bounds=$3
# Small bounds are searched in less time than gcc takes to make the search faster.
optimise=-O0
if [ -n "${RTL_TEST_LONG:-}" ]; then
	bounds=${4:-$bounds}
	optimise=-O2
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

fail() {
	echo "check.sh: $1"
	cat "$dir"/*.log
	exit 1
}

check=-DSAFETY
run=""
case "$what" in
ends)
	check=-DNP
	run=-l
	;;
esac
# shellcheck disable=SC2086 # a list
spin -a $bounds "$model" >spin.log 2>&1 || fail "spin failed"
! grep -qi error spin.log || fail "spin found an error in the model"
gcc -w $optimise $check -DCOLLAPSE -DMEMLIM=900 -o pan pan.c >gcc.log 2>&1 || fail "gcc failed"
./pan -n -w22 -m20000 $run >pan.log 2>&1 || fail "the search failed"
grep -q 'errors: [^0]' pan.log || ! grep -q 'not completed' pan.log ||
	fail "the search was cut short"
! grep -qE 'too small|MEMLIM|out of memory|[Bb]it statespace|[Hh]ash.?[Cc]ompact' pan.log ||
	fail "the search was cut short"
states=$(sed -n 's/^ *\([0-9e.+]*\) states, stored.*/\1/p' pan.log)
[ -n "$states" ] || fail "no result"
if [ "$what" = mistake ]; then
	sed -nE 's/^pan:1: (assertion violated|invalid end state)/found: &/p' pan.log | grep . ||
		fail "the mistake was not found in $states states"
else
	grep -q 'errors: 0$' pan.log || fail "the model is wrong"
	echo "ok: $states states"
fi

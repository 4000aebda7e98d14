#!/bin/bash
# SPDX-License-Identifier: MIT
# From the exit of the last rank to a closed, complete, single-file database.
# usage: tests/bench/close_tail.sh [DISPATCHES_PER_RANK...]   (default: 100000 1000000)
# Prints, per size: dispatches, stored, drops, the tail in ms. Times include the shell.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ $# -gt 0 ] || set -- 100000 1000000
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SOFTGPU_COUNT=8 SOFTGPU_SCRIPT=$PWD/tests/workload/softgpu.script XDG_RUNTIME_DIR=$work

printf '%-12s %12s %12s %10s %10s\n' ranks dispatched stored dropped tail_ms
for n in "$@"; do
	build/bin/rtl run -f -q -o "$work/t.db" --device soft -- \
		sh -c 'build/bin/rtl-demo --ranks 8 --dispatches '"$n"' '"${RATE:+--rate $RATE}"' >/dev/null; date +%s%N >'"$work/end" 2>/dev/null
	closed=$(date +%s%N)
	[ ! -e "$work/t.db-wal" ] || echo "not one file: the WAL is still there"
	sqlite3 -readonly "$work/t.db" "SELECT sum(dispatched), sum(stored), sum(dropped) FROM rtl_account" |
		awk -F'|' -v n="$n" -v tail=$(((closed - $(cat "$work/end")) / 1000000)) \
			'{printf "8 x %-8d %12d %12d %10d %10d\n", n, $1, $2, $3, tail}'
done

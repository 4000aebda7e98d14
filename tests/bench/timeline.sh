#!/bin/bash
# SPDX-License-Identifier: MIT
# rtl timeline against one scan of the same columns by SQLite itself, and its peak memory.
# usage: tests/bench/timeline.sh BUILD [RANKS] [KERNELS_PER_RANK] [RUNS]     (8, 1000000, 5)
# Processor time of the user, the least of the runs; the file is in the page cache.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$1 ranks=${2:-8} kernels=${3:-1000000} runs=${4:-5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
least() { # least COMMAND...: seconds and KiB
	for _ in $(seq "$runs"); do
		/usr/bin/time -f "%U %M" "$@" 2>&1 >/dev/null | tail -n 1
	done | sort -n | head -n 1
}
printf '%-10s %10s %10s %8s %10s\n' steps scan_s timeline_s ratio peak_KiB
for markers in markers none; do
	"$here/timeline_db.sh" "$work/$markers.db" "$ranks" "$kernels" "$markers"
	scan=$(least sqlite3 -readonly "$work/$markers.db" \
		'SELECT max(shape_id), max(start + duration), sum(submit), max(call) FROM rtl_dispatch')
	line=$(least "$build/bin/rtl" timeline "$work/$markers.db")
	awk -v m="$markers" -v s="${scan% *}" -v t="${line% *}" -v k="${line#* }" \
		'BEGIN {printf "%-10s %10.2f %10.2f %8.1f %10d\n", m, s, t, t / s, k}'
done

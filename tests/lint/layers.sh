#!/bin/sh
# SPDX-License-Identifier: MIT
# A module includes only what its row in docs/architecture.md allows.
# usage: layers.sh SOURCE_DIR
set -eu
cd "$1"
bad=0

# forbid PATTERN_OF_INCLUDE FILE...: none of the files may include it.
forbid() {
	pattern=$1
	shift
	for file in "$@"; do
		[ -f "$file" ] || continue
		if grep -nHE "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]($pattern)" "$file"; then
			bad=1
		fi
	done
}

forbid 'event2/|sqlite3\.h|sys/socket\.h|shim/|collectord/|cli/' proto/*/*.[ch]
forbid 'event2/|sqlite3\.h|collectord/|cli/|systemd/' shim/*/*.[ch]
forbid 'protobuf-c|proto/wire/|stdio\.h|syslog\.h|pthread\.h' \
	shim/capture/dispatch.[ch] shim/capture/shadow.[ch] shim/capture/intercept.[ch]
forbid 'sqlite3\.h|shim/|cli/' collectord/main.c collectord/loop/*.[ch] collectord/service/*.[ch]
forbid 'event2/|sys/socket\.h|shim/|cli/' collectord/store/*.[ch] collectord/ingest/*.[ch] \
	collectord/db/*.[ch] collectord/recorder/*.[ch] collectord/catalog/*.[ch]
forbid 'collectord/' cli/*.[ch] cli/*/*.[ch]
forbid 'sqlite3\.h' cli/*/command.c cli/run/*.[ch] cli/live/*.[ch] cli/collector/*.[ch]
forbid 'shim/|proto/|collectord/|cli/' tests/softgpu/*.[ch] tests/workload/*.[ch]
# A wait that only yields lets nobody in who is of another class on the same processor: shim/base/wait.h.
if grep -nH 'sched_yield' $(ls shim/*/*.[ch] | grep -v '^shim/base/wait\.h$'); then
	echo "lint.layers: a wait in the shim goes by shim/base/wait.h" >&2
	exit 1
fi
if [ $bad -ne 0 ]; then
	echo "lint.layers: the includes above cross a border of docs/architecture.md" >&2
	exit 1
fi
count=$(find proto shim collectord cli -name '*.[ch]' | wc -l)
[ "$count" -gt 20 ] || {
	echo "lint.layers: found only $count files to look at" >&2
	exit 1
}

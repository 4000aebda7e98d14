#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The dispatching threads make exactly the system calls that the program alone makes.
load ../lib.bash
bats_require_minimum_version 1.5.0

# calls TRACE: per dispatching thread, what it called between its two marks, with how often.
calls() {
	grep -v ' resumed>' "$1" | awk '$2 ~ /^getppid\(/ { on[$1] = !on[$1]; if (on[$1]) print "thread"; next }
		on[$1] { sub(/\(.*/, "", $2); print $2 }' | sort | uniq -c
}

@test "between two marks each of two threads dispatches 8 times 200 kernels, and calls what it calls alone" {
	local mode
	export SOFTGPU_COUNT=1
	env -u SOFTGPU_TRUTH LD_LIBRARY_PATH="$libdir/softgpu" \
		strace -f -o alone.trace "$RTL_BUILD/tests-bin/peer-scenes" burst
	calls alone.trace | tee alone
	[ "$(awk '$2 == "thread" { print $1 }' alone)" -eq 16 ]
	for mode in lite standard full hip; do
		RTL_EXIT_MS=60000 "$rtl" run -f -m $mode -o t.db --device soft -- \
			strace -f -o us.trace "$RTL_BUILD/tests-bin/peer-scenes" burst
		calls us.trace | tee us
		diff alone us
		accounted t.db
		[ "$(sql t.db 'SELECT sum(dispatched), sum(stored) FROM rtl_account')" = '3618|3618' ]
	done
}

#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The launching threads of a HIP program make exactly the same system calls as without rtl.
load hip.bash

# calls TRACE: the calls of each thread between its marks, in order.
calls() {
	grep -v ' resumed>' "$1" | awk '$2 ~ /^getppid\(/ { on[$1] = !on[$1]
			if (!($1 in name)) name[$1] = ++threads
			print name[$1], on[$1] ? "burst" : "over"; next }
		on[$1] { sub(/\(.*/, "", $2); print name[$1], $2 }'
}

@test "a thread that launches 50 kernels makes the same system calls as without rtl" {
	local mode
	export SOFTGPU_SCRIPT=$tests_dir/softgpu.script SOFTGPU_COUNT=1
	alone() { # alone TRACE [EXTRA]
		env -u SOFTGPU_TRUTH LD_LIBRARY_PATH="$libdir/softgpu" \
			strace -f -qq -o "$1" "$scenes" steady 50 "${2:-0}" >/dev/null
	}
	# HIP's own threads make it wait sometimes; the calls that two runs have in common are the program's.
	agree() {
		alone alone.trace
		calls alone.trace >alone
		alone again.trace
		calls again.trace | diff alone -
	}
	agree || agree || agree || agree || agree
	[ "$(grep -c burst alone)" -eq 20 ]
	# One additional call is noticed.
	alone seeded.trace 1
	calls seeded.trace >seeded
	[ "$(grep -c getuid seeded)" -eq 20 ]
	not diff alone seeded >/dev/null
	# A call of the shim would be there each time.
	same() { # same MODE
		RTL_EXIT_MS=60000 "$rtl" run -f -m "$1" -o t.db --device soft -- \
			strace -f -qq -o us.trace "$scenes" steady 50 >out 2>err
		calls us.trace >us
		diff alone us
	}
	for mode in standard hip; do
		same $mode || same $mode || same $mode || same $mode || same $mode
		accounted t.db
		launched
		[ "$(sql t.db "SELECT count(*) FROM rtl_host_call WHERE api = 'hipLaunchKernel'")" -eq \
			$([ $mode = hip ] && echo 1300 || echo 0) ]
	done
}

#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# A HIP program's launching threads make exactly the system calls that the program alone makes.
load hip.bash

# calls TRACE: per thread, what it called between its marks, in order.
calls() {
	grep -v ' resumed>' "$1" | awk '$2 ~ /^getppid\(/ { on[$1] = !on[$1]
			if (!($1 in name)) name[$1] = ++threads
			print name[$1], on[$1] ? "burst" : "over"; next }
		on[$1] { sub(/\(.*/, "", $2); print name[$1], $2 }'
}

@test "between its marks a thread that launches 50 kernels calls what it calls alone" {
	local mode
	export SOFTGPU_SCRIPT=$tests_dir/softgpu.script SOFTGPU_COUNT=1
	alone() { # alone TRACE [EXTRA]
		env -u SOFTGPU_TRUTH LD_LIBRARY_PATH="$libdir/softgpu" \
			strace -f -qq -o "$1" "$scenes" steady 50 "${2:-0}" >/dev/null
	}
	alone alone.trace
	calls alone.trace >alone
	[ "$(grep -c burst alone)" -eq 20 ]
	# It sees one more call where there is one.
	alone seeded.trace 1
	calls seeded.trace >seeded
	[ "$(grep -c getuid seeded)" -eq 20 ]
	! diff alone seeded >/dev/null
	for mode in standard hip; do
		RTL_EXIT_MS=60000 "$rtl" run -f -m $mode -o t.db --device soft -- \
			strace -f -qq -o us.trace "$scenes" steady 50 >out 2>err
		calls us.trace >us
		diff alone us
		accounted t.db
		launched
		[ "$(sql t.db "SELECT count(*) FROM rtl_host_call WHERE api = 'hipLaunchKernel'")" -eq \
			$([ $mode = hip ] && echo 1006 || echo 0) ]
	done
}

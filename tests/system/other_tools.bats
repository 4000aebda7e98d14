#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Other tools in the process, and ways to start it that go past what rtl run has set: all is recorded, or one line says
# what is not (docs/other-tools.md). rocprofiler-sdk: register.*; tools in HSA_TOOLS_LIB: shim.other_tool_*.
load lib.bash
bats_require_minimum_version 1.5.0
guest=$RTL_BUILD/tests/shim/guest/shim-guest

# library NAME: its path.
library() {
	ldconfig -p | awk -v name="$1" '$1 == name && /x86-64/ { print $NF; exit }'
}

# whole N: t.db has all of N dispatches, and rtl run has said so.
whole() {
	accounted t.db
	[ "$(sql t.db 'SELECT count(*) FROM rocpd_op')" -eq "$1" ]
	tail -n 1 err | grep -q "complete: $1 dispatched, $1 stored"
	[ "$(grep -c '^rtl: .*not recorded' err)" -eq 0 ]
}

@test "allocators that the user preloads are there, and all is recorded" {
	for name in libjemalloc.so.2 libtcmalloc_minimal.so.4; do
		allocator=$(library $name)
		[ -n "$allocator" ]
		LD_PRELOAD=$allocator run -3 --separate-stderr "$rtl" run -fo t.db --device soft -- sh -c '
			grep -q "$1" /proc/self/maps || exit 9
			exec "$0" return' "$guest" $name
		echo "$stderr" >err
		whole 10
	done
}

@test "with an LD_AUDIT library all is recorded" {
	run -3 --separate-stderr "$rtl" run -o t.db --device soft -- env LD_AUDIT="$RTL_BUILD/tests-bin/libaudit.so" sh -c '
		grep -q libaudit.so /proc/self/maps || exit 9
		exec "$0" return' "$guest"
	echo "$stderr" >err
	whole 10
}

# Environment Modules and Spack prepend to variables, in the shell that starts the program.
@test "a module that prepends to LD_PRELOAD and LD_LIBRARY_PATH takes nothing away" {
	run -3 --separate-stderr "$rtl" run -o t.db --device soft -- bash -c '
		export LD_PRELOAD="$1${LD_PRELOAD:+:$LD_PRELOAD}"
		export LD_LIBRARY_PATH="/opt/module/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
		exec "$0" return' "$guest" "$(library libjemalloc.so.2)"
	echo "$stderr" >err
	whole 10
}

@test "a module that sets its own LD_PRELOAD leaves the kernels" {
	run -3 --separate-stderr "$rtl" run -o t.db --device soft -- bash -c '
		export LD_PRELOAD=$1
		exec "$0" return' "$guest" "$(library libjemalloc.so.2)"
	echo "$stderr" >err
	accounted t.db
	[ "$(sql t.db 'SELECT count(*) FROM rocpd_op')" -eq 10 ]
}

# unseen: rtl run has said so, in one line, and does not call it a whole recording.
unseen() {
	[ "$(grep -c '^rtl: no kernel was seen; if there should be some, see rtl doctor' err)" -eq 1 ]
	run -3 "$rtl" summary --strict t.db
}

# On a GPU that is none of software the line names the process and what it lacks (outstanding, ADR 0015).
@test "of a job script that unsets what rtl run has set it is said that nothing was seen" {
	run -3 --separate-stderr "$rtl" run -o t.db --device soft -- env -u LD_PRELOAD -u HSA_TOOLS_LIB "$guest" return
	echo "$stderr" >err
	[[ $output == "dispatched 10" ]]
	unseen
}

@test "in a mount namespace without rtl's libraries the program runs, and it is said that nothing was seen" {
	mkdir softgpu
	run -3 --separate-stderr "$rtl" run -o t.db --device soft -- unshare --mount sh -c '
		mount --bind "$1/softgpu" softgpu && mount -t tmpfs none "$1" && mkdir "$1/softgpu" &&
			mount --bind softgpu "$1/softgpu" && exec "$0" return' "$guest" "$libdir"
	echo "$stderr" >err
	[[ $output == "dispatched 10" ]]
	unseen
}

#!/bin/sh
# SPDX-License-Identifier: MIT
# strace.sh BUILD_DIR LOAD: a dispatching thread makes exactly the system calls, in their order, that
# it makes without the shim, between two calls of getppid(): from its first dispatch to its last. LOAD: tools or preload.
. "$(dirname "$0")/../lib.sh"
load=$2
guest=$build/tests/shim/guest/shim-guest

# calls_of TRACE NAME: the system calls of the thread NAME. If the shim's thread has had no processor, a dispatching
# thread makes slots itself: it blocks signals, and the runtime takes memory for their signals, which waits for nothing.
calls_of()
{
	file=$(grep -l "PR_SET_NAME, \"$2\"" "$dir/$1".*) || die "no thread $2 in $1"
	awk '/^getppid\(/ { is_between = !is_between; print "mark" }
		!is_between { next }
		/^rt_sigprocmask\(/ { is_blocked = /~\[/; next }
		is_blocked && /^(mmap|munmap|mprotect|brk)\(/ { next }
		match($0, /^[a-z_0-9]+\(/) { print substr($0, 1, RLENGTH - 1) }' "$file"
}

LD_LIBRARY_PATH="$build/lib/softgpu" strace -ff -qq -o "$dir/alone" "$guest" steady \
	>"$dir/out.alone" 2>"$dir/err" </dev/null || die "without the shim: $?"
collector_start
with_shim strace -ff -qq -o "$dir/with" "$guest" steady </dev/null || die "with the shim: $?"
collector_stop
cmp -s "$dir/out.alone" "$dir/out" || die "it prints otherwise"
for thread in dispatch-0 dispatch-1; do
	calls_of alone $thread >"$dir/calls.alone"
	calls_of with $thread >"$dir/calls.with"
	[ "$(grep -c mark "$dir/calls.alone")" -eq 2 ] || die "strace saw nothing of $thread"
	cmp -s "$dir/calls.alone" "$dir/calls.with" || {
		diff "$dir/calls.alone" "$dir/calls.with" | head -n 20
		die "$thread makes other system calls"
	}
done
grep -q 'PR_SET_NAME, "rtl-shim"' "$dir"/with.* || die "the shim was not there: nothing was tested"
expect dispatched 6000
expect recorded "$((6000 - $(counter untimed_early)))"

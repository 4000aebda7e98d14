#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What the shim's thread asks of the kernel is documented, and RTL_THREAD=no does without it
# (docs/capture.md, "The shim's thread").
load lib.bash
bats_require_minimum_version 1.5.0
doc=$BATS_TEST_DIRNAME/../../docs/capture.md
guest=$RTL_BUILD/tests/shim/guest/shim-guest

# documented: the calls that the page lists, one a line.
documented() {
	sed -n '/^## The shim.s thread/,/^### Without/s/^| [^|]* | \(`.*`\) |$/\1/p' "$doc" | tr -d '`' | tr ' ' '\n' | sort -u
}

# calls FILE...: the names in strace's output, one a line.
calls() {
	sed -n 's/^\([a-z_0-9]*\)(.*/\1/p' "$@" | sort -u
}

# numbers: of the names on stdin, as seccomp has them.
numbers() {
	while read -r name; do
		awk -v name="__NR_$name" '$2 == name { print $3 }' /usr/include/x86_64-linux-gnu/asm/unistd_64.h
	done
}

# own_calls: what the program and its runtime need without rtl.
own_calls() {
	LD_LIBRARY_PATH="$libdir/softgpu" strace -ff -qq -o own "$guest" filtered >out.alone 2>&1
	calls own.*
}

# stored N: the session in t.db has each of N dispatches.
stored() {
	accounted t.db
	[ "$(sql t.db 'SELECT count(*) FROM rocpd_op')" -eq "$1" ]
	[ "$(sql t.db 'SELECT coalesce(sum(outstanding), 0) + coalesce(sum(dropped), 0) FROM rtl_account')" -eq 0 ]
}

@test "the shim's thread makes no system call that is not documented" {
	"$rtl" run -o t.db --device soft -- strace -ff -qq -o calls "$guest" filtered >out 2>err
	thread=$(grep -l 'PR_SET_NAME, "rtl-shim"' calls.*)
	[ "$(calls "$thread" | wc -l)" -gt 5 ]
	documented >listed
	[ "$(wc -l <listed)" -gt 30 ]
	calls "$thread" | comm -23 - listed | tee undocumented
	[ ! -s undocumented ]
	stored 2010
}

@test "a filter that allows what is documented ends no program, and all is stored" {
	own_calls >allowed
	documented >>allowed
	mapfile -t allowed < <(sort -u allowed | numbers)
	"$rtl" run -o t.db --device soft -- "$guest" filtered "${allowed[@]}" >out 2>err
	diff out.alone out
	stored 2010
}

@test "the filter ends a program whose thread makes any other call" {
	own_calls >own
	mapfile -t allowed < <(grep -vx ppoll own | numbers)
	run -159 "$rtl" run -o t.db --device soft -- "$guest" filtered "${allowed[@]}"
	[[ $output == *before* ]]
}

@test "RTL_THREAD=no needs no system call that the program does not make, and all is stored" {
	own_calls >own
	# What a dispatch without a slot, and the end, may need.
	mapfile -t allowed < <(printf '%s\n' fstat newfstatat clock_nanosleep madvise mmap rt_sigprocmask sched_yield \
		fallocate | sort -u - own | numbers)
	RTL_THREAD=no "$rtl" run -o t.db --device soft -- "$guest" filtered "${allowed[@]}" >out 2>err
	diff out.alone out
	stored 2010
}

@test "RTL_THREAD=no makes no thread and keeps no socket" {
	RTL_THREAD=no "$rtl" run -o t.db --device soft -- strace -ff -qq -o calls "$guest" filtered >out 2>err
	run -1 grep -l 'PR_SET_NAME, "rtl-shim"' calls.*
	LD_LIBRARY_PATH="$libdir/softgpu" strace -ff -qq -o own "$guest" filtered >out.alone
	[ "$(ls calls.* | wc -l)" -eq "$(ls own.* | wc -l)" ]
	first=$(grep -l 'AF_UNIX' calls.*)
	fd=$(sed -n 's/^connect(\([0-9]*\), {sa_family=AF_UNIX.*= 0$/\1/p' "$first")
	[ -n "$fd" ]
	grep -q "^close($fd)" "$first"
	stored 2010
}

@test "RTL_THREAD=no stores what a program saw end, however it dies" {
	export RTL_THREAD=no
	for mode in _exit quick_exit in_handler return; do
		"$rtl" run -fq -o t.db --device soft -- "$guest" $mode >out 2>err || true
		accounted t.db
		[ "$(sql t.db 'SELECT count(*) FROM rocpd_op')" -ge "$(awk '/^dispatched / { n += $2 } END { print n + 0 }' out)" ]
		[ "$(sql t.db 'SELECT count(*) FROM rocpd_op')" -gt 0 ]
	done
}

@test "RTL_THREAD=no says what only the thread does, and that no collector is there" {
	RTL_THREAD=no RTL_DORMANT=1 "$rtl" run -o t.db --device soft -- "$guest" return >out 2>err || true
	grep -q "^rtl: RTL_THREAD=no: only the shim's thread starts and stops a recording" err
	RTL_THREAD=no RTL_SOCKET=$PWD/none LD_PRELOAD=$preload LD_LIBRARY_PATH="$libdir/softgpu" "$guest" return >out 2>err ||
		true
	grep -q '^rtl: no collector at .*none: ' err
	[ "$(grep -c '^rtl:' err)" -eq 1 ]
}

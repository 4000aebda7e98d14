#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# A program that returns from main() loses no kernel, though RTL_EXIT_MS is as it is, and the machine busy.
load lib.bash
bats_require_minimum_version 1.5.0
guest=$RTL_BUILD/tests/shim/guest/shim-guest
programs=25

# be_busy COMMAND...: while 4 threads for each processor do nothing else, with RTL_TEST_LONG=1 16.
be_busy() {
	local busy=() result=0
	for ((i = 0; i < ${RTL_TEST_LONG:+4 *} 4 * $(nproc); i++)); do
		(while :; do :; done) 3>&- &
		busy+=($!)
	done
	"$@" || result=$?
	kill "${busy[@]}"
	return $result
}

# return_all MODE: many at once; leaves t.db. Each of their kernels is stored, and ended on its GPU.
return_all() {
	unset RTL_EXIT_MS
	be_busy "$rtl" run -o t.db --device soft -- sh -c '
		for i in $(seq "$1"); do "$0" "$2" >"out.$i" 2>"err.$i" & done
		wait' "$guest" $programs "$1" >out 2>err
	told=$(awk '/^dispatched / { n += $2 } END { print n + 0 }' out.*)
	[ "$told" -ge $programs ]
	accounted t.db
	sql t.db 'SELECT sum(stored), sum(outstanding), sum(dropped) FROM rtl_account'
	[ "$(sql t.db 'SELECT count(*) FROM rocpd_op')" -eq "$told" ]
	[ "$(sql t.db 'SELECT count(*) FROM rtl_outstanding')" -eq 0 ]
}

@test "short programs that have waited for their kernels lose none on a busy machine" {
	return_all return_early
}

@test "short programs that return with kernels under way lose none on a busy machine" {
	return_all return_unwaited
}

# bats test_tags=apart
@test "short programs without the shim's thread lose no kernel that they waited for" {
	export RTL_THREAD=no
	return_all return_early
}

#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What the other files rely on, of lib.bash itself.
load lib.bash
bats_require_minimum_version 1.5.0

@test "a test that fails says what its commands said" {
	local at=@ # bats takes every line that begins with its word for a test of this file
	cat >inner.bats <<-END
		load $here/lib
		${at}test "fails" { sh -c 'echo some words >&2; echo a result; exit 7' >out 2>err.1; }
		${at}test "passes" { echo never told >out; }
	END
	run -1 env -u BATS_TEST_COMPLETED bats --print-output-on-failure inner.bats
	grep -q '^# some words$' <<<"$output"
	grep -q '^# a result$' <<<"$output"
	not grep -q "never told" <<<"$output"
}

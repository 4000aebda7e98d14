#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Every mode with a flood: 40,000 launches (RTL_TEST_LONG=1: 100,000) on HIP's queues without a pause.
load hip.bash
launches=${RTL_TEST_LONG:+10}
launches=${launches:-4}0000

@test "a HIP program that floods its queue ends as ever, complete with every call, in every mode" {
	local mode
	for mode in lite standard default full hip all; do
		rm -f t.db truth/* ./*.truth.csv
		rtl_options="-m $mode" scene flood "$launches"
		complete_with_calls
	done
}

@test "a HIP program that floods its queue is complete where the shim's thread gets no processor" {
	local mode
	for mode in standard hip; do
		rm -f t.db truth/* ./*.truth.csv
		starved="$here/../lib/starved $RTL_BUILD" rtl_options="-m $mode" scene flood "$launches"
		complete_with_calls
		grep -q '^starved$' err
	done
}

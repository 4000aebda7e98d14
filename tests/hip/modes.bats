#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Every mode under a flood: HIP's queues take 100,000 launches as fast as they go.
load hip.bash

@test "a HIP program that floods its queue ends as ever, all accounted for, in every mode" {
	local mode
	for mode in lite standard default full hip; do
		rm -f t.db truth/* ./*.truth.csv
		rtl_options="-m $mode" scene flood 100000
		flooded
	done
}

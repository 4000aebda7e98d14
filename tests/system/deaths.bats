#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The report on a process that was killed names a kernel only if its GPU had that kernel then, by the device's own log.
load lib.bash
bats_require_minimum_version 1.5.0
guest=$RTL_BUILD/tests/shim/guest/shim-guest

@test "of processes killed at any moment no kernel is named that the GPU did not have" {
	local deaths=4
	[ -z "${RTL_TEST_LONG:-}" ] || deaths=200
	RANDOM=${RTL_TEST_SEED:-$RANDOM}
	echo "RTL_TEST_SEED=$RANDOM"
	for ((i = 0; i < deaths; i++)); do echo "$((RANDOM % 4)).$((RANDOM % 10))1"; done >lives
	SOFTGPU_SCRIPT=$BATS_TEST_DIRNAME/deaths.script "$rtl" run -o t.db --device soft -- sh -c '
		while read -r life; do timeout -s KILL "$life" "$0" killed_at_work; done <"$1"; :' "$guest" lives >out 2>err
	accounted t.db
	"$rtl" outstanding --json t.db >report
	jq -r '.waiting[] | select(.kernel != null and .sequenceId != null) | "\(.pid) \(.kernel)"' report | sed 's/\.kd$//' |
		sort >named
	# A process that died before its device had a log had no kernel.
	for log in truth/*; do "$RTL_BUILD/bin/softgpu-truth" "$log" 2>/dev/null || true; done | awk -F, '$9 ~ /^running/ { print $1, $6 }' | sed 's/\.kd$//' | sort >had
	# Some that died in the long one, by far: or nothing was shown.
	echo "named $(wc -l <named), on a GPU $(wc -l <had), died $(sql t.db "SELECT count(*) FROM rtl_process WHERE ended = 'killed'")"
	[ -s named ]
	comm -23 named had | tee wrong
	[ ! -s wrong ]
}

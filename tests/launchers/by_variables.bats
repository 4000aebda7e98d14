#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# By variables: launchers that are no package of Debian. Their ranks get exactly what the source in variables.tsv
# sets, and nothing else of them runs here (README.md).
load ../system/lib.bash
bats_require_minimum_version 1.5.0

# start RANKS VARIABLES: rank.py once a rank, each with these variables
start() {
	local ranks=$1 variables=$2 r words children=()
	for ((r = 0; r < ranks; r++)); do
		words=${variables//\{r\}/$r}
		# shellcheck disable=SC2086 # words
		env ${words//\{n\}/$ranks} "$program" &
		children+=($!)
	done
	for r in "${children[@]}"; do
		wait "$r" || return
	done
}

@test "ranks with the variables of DeepSpeed, Lightning and Ray Train are told as these are, by variables" {
	local launcher source name variables rows=0
	export -f start
	export program=$here/../launchers/rank.py
	while IFS=$'\t' read -r launcher source name variables; do
		[[ $launcher != '#'* ]] || continue
		"$rtl" run -q -f --device soft -o t.db bash -c 'start 3 "$0"' "$variables" 2>err || { cat err; false; }
		accounted t.db
		[ "$(sql t.db 'SELECT rank, count(*) FROM rocpd_op GROUP BY 1' | paste -sd ' ')" = "0|5 1|5 2|5" ]
		[ "$(sql t.db 'SELECT rank, local_rank, world_size, launcher FROM rtl_process ORDER BY rank' | paste -sd ' ')" = \
			"0|0|3|$name 1|1|3|$name 2|2|3|$name" ] || { echo "$launcher ($source)"; false; }
		rows=$((rows + 1))
	done <"$here/../launchers/variables.tsv"
	[ "$rows" -eq 3 ]
}

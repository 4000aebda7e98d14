#!/bin/sh
# SPDX-License-Identifier: MIT
# on_load.sh BUILD_DIR: what OnLoad costs the thread that calls hsa_init, in instructions, which are the
# same on a loaded machine, 170,000 with a small environment; and in page faults, which cost more than all of
# these. The figure on_load of tests/bench has the time.
. "$(dirname "$0")/../lib.sh"
INSTRUCTIONS_MAX=300000
FAULTS_MAX=120

collector_start
with_shim env -u SOFTGPU_TRUTH valgrind --tool=callgrind --callgrind-out-file="$dir/profile" \
	--toggle-collect=OnLoad "$build/tests-bin/on-load" 0 </dev/null || die "does not run: $?"
collector_stop
[ "$(grep -c '^process' "$dir/collected")" = 1 ] || die "not recorded"
spent=$(awk '$1 == "summary:" || $1 == "totals:" { print $2; exit }' "$dir/profile")
echo "OnLoad: $spent instructions"
# Fewer than any start needs: callgrind has not seen OnLoad.
[ "${spent:-0}" -gt 20000 ] || die "callgrind saw only ${spent:-nothing}"
[ "$spent" -le $INSTRUCTIONS_MAX ] || die "$spent instructions, more than $INSTRUCTIONS_MAX"

# A fault takes about half a microsecond; a thousand would take most of OnLoad's millisecond.
faults() # faults VARIABLE...: of the whole process, the least of five
{
	for _ in 1 2 3 4 5; do
		env LD_LIBRARY_PATH="$build/lib/softgpu" RTL_SOCKET="$dir/socket" "$@" \
			"$build/tests-bin/on-load" 0 </dev/null | awk '{ print $4 }'
	done | sort -n | head -n 1
}
collector_start
off=$(faults RTL_MODE=off HSA_TOOLS_LIB="$shim")
on=$(faults HSA_TOOLS_LIB="$shim")
collector_stop
echo "page faults: $off loaded and off, $on recording"
[ "$off" -gt 100 ] || die "no page faults are counted"
[ $((on - off)) -le $FAULTS_MAX ] || die "$((on - off)) page faults, more than $FAULTS_MAX"

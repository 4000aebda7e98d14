#!/bin/sh
# SPDX-License-Identifier: MIT
# Everything from a clean clone: installs what is missing, builds, profiles a 4-rank
# data-parallel training loop and shows what was recorded. With /dev/kfd it uses the real
# GPUs, otherwise the software GPU: then SIMULATED stands wherever figures show.
set -eu
cd "$(dirname "$0")"

tests/setup.sh demo
mkdir -p build/demo
# The tests need more packages than the demo does.
[ -f build/build.ninja ] || cmake --preset release -DBUILD_TESTING=OFF >build/build.log 2>&1 ||
	{ cat build/build.log; exit 1; }
# Shows how far ninja is, in one line of a terminal.
show_progress() {
	[ -t 1 ] || { cat >/dev/null; return; }
	while read -r line; do
		printf '\r\033[K%.70s' "$line"
	done
	printf '\r\033[K'
}

echo "== building: some 2 minutes on 2 idle processors (build/build.log) =="
rm -f build/demo/failed
{ cmake --build build --target rtl collectord rtl_shim rtl_calls rtl-demo-rccl softgpu 2>&1 || : >build/demo/failed; } |
	tee build/build.log | show_progress
[ ! -e build/demo/failed ] || { cat build/build.log; exit 1; }

device=soft
if [ -r /dev/kfd ] && [ -w /dev/kfd ]; then
	device=real
fi
rtl=build/bin/rtl
db=build/demo/demo.db

echo "== rtl run: a 4-rank training loop, $device device (build/demo/run.log) =="
if [ $device = soft ]; then
	SOFTGPU_SCRIPT=$PWD/tests/workload/softgpu.script
	SOFTGPU_COUNT=4
	# As on real GPUs, no rank leaves a collective before the last one came.
	SOFTGPU_FAULT='kernel *ncclDevKernel_* meet=ranks'
	export SOFTGPU_SCRIPT SOFTGPU_COUNT SOFTGPU_FAULT
fi
$rtl run -f -o $db --device $device -- build/bin/rtl-demo-rccl --ranks 4 --steps 20 --straggler 2 >build/demo/run.log 2>&1 ||
	{ cat build/demo/run.log; exit 1; }
echo
echo "== rtl summary --top 5 $db =="
$rtl summary --top 5 $db

# What follows fits a terminal of 40 lines.
echo
echo "== which rank the others waited for: rtl collectives --top 2 =="
$rtl collectives --top 2 $db

$rtl report -f $db --html build/demo/demo.html 2>/dev/null
echo
echo "the same as a page, for any browser: build/demo/demo.html; try next:"
echo "  export PATH=$PWD/build/bin:\$PATH"
echo "  rtl timeline; rtl collectives; rtl diagnose    # of the newest database"
echo "  rtl query 'SELECT rank, count(*) FROM rocpd_op GROUP BY rank'"

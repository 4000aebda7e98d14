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
cmake --build build --target rtl collectord rtl_shim rtl-demo-rccl softgpu >build/build.log 2>&1 ||
	{ cat build/build.log; exit 1; }

device=soft
if [ -r /dev/kfd ] && [ -w /dev/kfd ]; then
	device=real
fi
rtl=build/bin/rtl
db=build/demo/demo.db

echo "== a 4-rank training loop under rtl ($device device) =="
if [ $device = soft ]; then
	SOFTGPU_SCRIPT=$PWD/tests/workload/softgpu.script
	SOFTGPU_COUNT=4
	# As on real GPUs, no rank leaves a collective before the last one came.
	SOFTGPU_FAULT='kernel *ncclDevKernel_* meet=ranks'
	export SOFTGPU_SCRIPT SOFTGPU_COUNT SOFTGPU_FAULT
fi
$rtl run -f -o $db --device $device -- build/bin/rtl-demo-rccl --ranks 4 --steps 20 --straggler 2

echo
echo "== what was recorded: rtl summary $db =="
$rtl summary $db

echo
echo "== which rank the others waited for: rtl collectives $db =="
$rtl collectives --top 3 $db

$rtl report -f $db --html build/demo/demo.html 2>/dev/null
echo
echo "database: $db"
echo "page:     build/demo/demo.html, for any browser"
echo "try next:"
echo "  $rtl info --counters $db"
echo "  $rtl query $db 'SELECT gpuId, rank, count(*) FROM rocpd_op GROUP BY gpuId, rank'"
echo "  sqlite3 $db 'SELECT * FROM top LIMIT 10'"

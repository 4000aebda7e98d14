#!/bin/sh
# SPDX-License-Identifier: MIT
# A Python program that looks up roctx in its own process, like a program without the library's headers.
. "$(dirname "$0")/lib.sh"
load=preload

collector_start
with_shim python3 -c '
import ctypes
roctx = ctypes.CDLL(None)
roctx.roctxRangeStartA.restype = ctypes.c_uint64
hsa = ctypes.CDLL("libhsa-runtime64.so.1")
levels = [roctx.roctxRangePushA(b"before"), roctx.roctxRangePushA(b"within")]
assert hsa.hsa_init() == 0
levels += [roctx.roctxRangePop(), roctx.roctxRangePop(), roctx.roctxRangePop()]
assert levels == [0, 1, 1, 0, -1], levels
roctx.roctxMarkA(b"loss=1.5")
assert roctx.roctxRangeStartA(b"a") != roctx.roctxRangeStartA(b"b")
assert (roctx.roctx_version_major(), roctx.roctx_version_minor()) == (4, 1)
tid = ctypes.c_uint64()
assert roctx.roctxGetThreadId(ctypes.byref(tid)) == 0 and tid.value
assert roctx.roctxNameOsThread(b"main") == 0
assert roctx.roctxProfilerPause(0) == roctx.roctxProfilerResume(0) == 0
assert hsa.hsa_shut_down() == 0
' || die "python: $?"
collector_stop
[ ! -s "$dir/err" ] || die "it spoke"
[ "$(awk '$1 == "marker" { print $3, $6 }' "$dir/collected" | tr '\n' ' ')" = \
	"1 before 1 within 3 - 3 - 4 loss=1.5 2 a 2 b 5 main " ] ||
	die "markers: $(grep '^marker' "$dir/collected")"
expect markers_begun 4
expect markers_ended 2
expect dropped_markers 0

#!/bin/sh
# SPDX-License-Identifier: MIT
# What librtl-shim.so brings into the user's process: which libraries it needs, what it exports,
# how new a glibc it asks for, and that it can never be unloaded.
# usage: shim_symbols.sh SOURCE_DIR BUILD_DIR
set -u
library=$2/lib/librtl-shim.so
status=0
# A sanitizer brings its own library and binds to today's glibc; the rest holds there too.
grep -q '^RTL_SANITIZE:[A-Z]*=.' "$2/CMakeCache.txt" && sanitized=yes || sanitized=no

fail()
{
	echo "$1"
	status=1
}

needed=$(readelf -dW "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort | tr '\n' ' ')
[ -n "$needed" ] || fail "readelf shows no dependency at all"
for name in $needed; do
	case $name in
	libc.so.6 | libdl.so.2 | libpthread.so.0 | ld-linux-x86-64.so.2) ;;
	*) [ $sanitized = yes ] || fail "needs $name" ;;
	esac
done

exports=$(nm -D --defined-only "$library" | awk '{ print $3 }' | sort | tr '\n' ' ')
wanted="HSA_AMD_TOOL_PRIORITY OnLoad OnUnload roctxMark roctxMarkA roctxRangePop roctxRangePush \
roctxRangePushA roctxRangeStart roctxRangeStartA roctxRangeStop "
[ "$exports" = "$wanted" ] || fail "exports $exports, not $wanted"

newest=$(objdump -T "$library" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -Vu | tail -n 1)
[ -n "$newest" ] || fail "objdump shows no glibc version at all"
[ $sanitized = yes ] || [ "$(printf '%s\n2.28\n' "$newest" | sort -V | tail -n 1)" = 2.28 ] || {
	fail "asks for glibc $newest, newer than 2.28:"
	objdump -T "$library" | grep -F "GLIBC_$newest"
}

readelf -dW "$library" | grep -q 'FLAGS_1.*NODELETE' || fail "can be unloaded: no -z nodelete"
readelf -dW "$library" | grep -q 'FLAGS_1.*NOW' || fail "binds lazily: no -z now"
readelf -lW "$library" | grep -q 'GNU_STACK.*RWE' && fail "wants an executable stack"
exit $status

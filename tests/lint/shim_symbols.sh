#!/bin/sh
# SPDX-License-Identifier: MIT
# What librtl-shim.so and librtl-calls.so bring into the user's process: which libraries they need,
# what they export, how new a glibc they ask for, and that they can never be unloaded.
# usage: shim_symbols.sh SOURCE_DIR BUILD_DIR
set -u
status=0
# A sanitizer brings its own library and binds to today's glibc; the rest holds there too.
grep -q '^RTL_SANITIZE:[A-Z]*=.' "$2/CMakeCache.txt" && sanitized=yes || sanitized=no

fail()
{
	echo "$(basename "$library"): $1"
	status=1
}

exports()
{
	nm -D --defined-only "$library" | awk '{ print $3 }' | sort | tr '\n' ' '
}

# guest LIBRARY OTHER_NEEDED_LIBRARY
guest()
{
	library=$1
	needed=$(readelf -dW "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort | tr '\n' ' ')
	[ -n "$needed" ] || fail "readelf shows no dependency at all"
	for name in $needed; do
		case $name in
		libc.so.6 | libdl.so.2 | libpthread.so.0 | ld-linux-x86-64.so.2 | $2) ;;
		*) [ $sanitized = yes ] || fail "needs $name" ;;
		esac
	done
	newest=$(objdump -T "$library" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -Vu | tail -n 1)
	[ -n "$newest" ] || fail "objdump shows no glibc version at all"
	[ $sanitized = yes ] || [ "$(printf '%s\n2.28\n' "$newest" | sort -V | tail -n 1)" = 2.28 ] || {
		fail "asks for glibc $newest, newer than 2.28:"
		objdump -T "$library" | grep -F "GLIBC_$newest"
	}
	readelf -dW "$library" | grep -q 'FLAGS_1.*NODELETE' || fail "can be unloaded: no -z nodelete"
	readelf -dW "$library" | grep -q 'FLAGS_1.*NOW' || fail "binds lazily: no -z now"
	readelf -lW "$library" | grep -q 'GNU_STACK.*RWE' && fail "wants an executable stack"
	return 0
}

guest "$2/lib/librtl-shim.so" none
wanted="HSA_AMD_TOOL_PRIORITY OnLoad OnUnload _Exit __asan_default_options \
__longjmp_chk _exit _longjmp abort longjmp \
ncclAllGather ncclAllReduce ncclAllToAll \
ncclAllToAllv ncclBcast ncclBroadcast ncclCommAbort ncclCommDestroy ncclCommFinalize \
ncclCommInitAll ncclCommInitRank ncclCommInitRankConfig ncclCommInitRankScalable \
ncclCommSplit ncclGather ncclGetUniqueId ncclGroupEnd ncclGroupStart ncclRecv \
ncclReduce ncclReduceScatter ncclScatter ncclSend quick_exit \
rocprofiler_register_library_api_table roctxGetThreadId roctxMark roctxMarkA \
roctxNameHipDevice roctxNameHipStream roctxNameHsaAgent roctxNameOsThread \
roctxProfilerPause roctxProfilerResume roctxRangePop roctxRangePush roctxRangePushA \
roctxRangeStart roctxRangeStartA roctxRangeStop roctxRegisterTracerCallback \
roctx_version_major roctx_version_minor rtl_call_begin rtl_call_end rtl_calls_attach \
rtl_process_claim rtl_wrapped siglongjmp "
[ "$(exports)" = "$wanted" ] || fail "exports $(exports), not $wanted"

# Only names of the table, and the ways to look one up.
guest "$2/lib/librtl-calls.so" librtl-shim.so
for name in $(exports); do
	case $name in
	dlsym | hipGetProcAddress | _Z24hip[A-Z]*ModuleLaunchKernel*) ;;
	*) grep -q "X($name, " "$1/proto/names/host_calls.h" || fail "exports $name" ;;
	esac
done
[ "$(exports | wc -w)" -gt 100 ] || fail "exports only $(exports)"
exit $status

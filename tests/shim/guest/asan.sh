#!/bin/sh
# SPDX-License-Identifier: MIT
# asan.sh BUILD_DIR: a program with an address sanitizer of its own runs under rtl run, and its
# sanitizer still finds what it has to find, whichever way it is started; no program's environment says
# anything of sanitizers.
. "$(dirname "$0")/../lib.sh"
program=$build/tests/shim/guest/guest-asan

cd "$dir" || exit 1
export XDG_RUNTIME_DIR="$dir" # no other test sees its collector
unset ASAN_OPTIONS

# sound NAME COMMAND...: the program ends as it does alone.
sound()
{
	name=$1
	shift
	"$@" >out 2>err </dev/null
	[ $? -eq 3 ] && [ "$(cat out)" = sound ] || die "$name: it does not run: $(cat out err)"
	! grep -q Sanitizer err || die "$name: its sanitizer complains"
}

sound "by rtl run" "$build/bin/rtl" run -f -o t.db --device soft -- "$program" sound
sound "by a shell" "$build/bin/rtl" run -f -o t.db --device soft -- sh -c "\"$program\" sound; exit \$?"
sound "by LD_PRELOAD alone" env LD_PRELOAD="$build/lib/librtl-shim.so" "$program" sound
export ASAN_OPTIONS=malloc_context_size=2
sound "with options of the user" "$build/bin/rtl" run -f -o t.db --device soft -- "$program" sound
unset ASAN_OPTIONS
"$build/bin/rtl" run -f -o t.db --device soft -- "$program" used freed >out 2>err </dev/null
[ $? -eq 1 ] && grep -q heap-use-after-free err || die "its sanitizer does not work any more"
"$build/bin/rtl" run -f -o t.db --device soft -- env >out 2>err </dev/null || die "env does not run"
! grep ASAN out || die "the job's environment has it"

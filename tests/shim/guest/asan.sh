#!/bin/sh
# SPDX-License-Identifier: MIT
# asan.sh BUILD_DIR: a program with an address sanitizer of its own runs under rtl run, and its
# sanitizer still finds what it has to find.
. "$(dirname "$0")/../lib.sh"
program=$build/tests/shim/guest/guest-asan

cd "$dir" || exit 1
export XDG_RUNTIME_DIR="$dir" # no other test sees its collector
"$build/bin/rtl" run -o t.db --device soft -- "$program" sound >out 2>err </dev/null
[ $? -eq 3 ] && [ "$(cat out)" = sound ] || die "it does not run: $(cat out)"
! grep -q Sanitizer err || die "its sanitizer complains"
"$build/bin/rtl" run -f -o t.db --device soft -- "$program" used freed >out 2>err </dev/null
[ $? -eq 1 ] && grep -q heap-use-after-free err || die "its sanitizer does not work any more"

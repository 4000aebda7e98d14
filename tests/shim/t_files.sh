#!/bin/sh
# SPDX-License-Identifier: MIT
# A program that closes our descriptors keeps the files that it opens under their numbers.
. "$(dirname "$0")/lib.sh"

collector_start
with_shim "$build/tests/shim/shim-life" closes_all || die "shim-life closes_all: $?"
! grep '^rtl:' "$dir/err" || die "the shim spoke"

#!/bin/sh
# SPDX-License-Identifier: MIT
# jumps.sh BUILD_DIR MODE LOAD: like same.sh, with the shim loaded by LOAD; and each kernel has a row.
load=$3
set -- "$1" "$2" 1
. "${0%/*}/same.sh"
[ "$rows" -ge "$told" ] || die "$rows rows of $told dispatches"

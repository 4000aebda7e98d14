#!/bin/sh
# SPDX-License-Identifier: MIT
# secure.sh BUILD_DIR: a setuid program is left alone, silently, although the runtime loads the shim there;
# the same program with its caller's rights is recorded.
. "$(dirname "$0")/../lib.sh"
other=65534

cp "$build/tests/shim/guest/shim-guest" "$dir/guest" || exit 1
chmod 711 "$dir"
chmod 755 "$dir/guest"
collector_start
with_shim env -u SOFTGPU_TRUTH "$dir/guest" secure </dev/null || die "with its caller's rights: $?"
[ "$(cat "$dir/out")" = "AT_SECURE 0
dispatched 10" ] || die "with its caller's rights it says $(cat "$dir/out")"
chmod 4755 "$dir/guest"
for load in tools preload both; do
	with_shim env -u SOFTGPU_TRUTH setpriv --reuid=$other --clear-groups "$dir/guest" secure \
		</dev/null || die "with other rights, $load: $?"
	[ "$(cat "$dir/out")" = "AT_SECURE 1
dispatched 10" ] || die "with other rights it says $(cat "$dir/out")"
	[ ! -s "$dir/err" ] || die "with other rights it complains"
done
collector_stop
[ "$(grep -c '^process' "$dir/collected")" = 1 ] || die "not one process"
[ "$(grep -c '^row' "$dir/collected")" = 10 ] || die "not ten rows"

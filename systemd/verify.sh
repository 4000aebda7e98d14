#!/bin/sh
# SPDX-License-Identifier: MIT
# verify.sh SYSTEMD_ANALYZE SOURCE BINARY COLLECTORD: the units say only what systemd knows.
set -eu
analyze=$1 source=$2 binary=$3 collectord=$4
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# More than the collector takes, and it would not start.
limit=$(sed -n 's/^#define KEPT_RECORDERS_MAX[[:space:]]*\([0-9]*\)u$/\1/p' "$source/../proto/limits.h")
if ! grep -qx "FileDescriptorStoreMax=${limit:?}" "$binary/rtl-collectord.service"; then
	echo "verify.sh: FileDescriptorStoreMax is not KEPT_RECORDERS_MAX, $limit"
	exit 1
fi

cp "$source/rtl-collectord.socket" "$dir"
sed "s|^ExecStart=.*|ExecStart=$collectord|; /^Documentation=/d" \
	"$binary/rtl-collectord.service" >"$dir/rtl-collectord.service"
sed -i '/^Documentation=/d' "$dir/rtl-collectord.socket"

# The manual page is not installed in a build tree, the user rtl need not exist here.
out=$(SYSTEMD_UNIT_PATH="$dir:" "$analyze" verify --man=no \
	"$dir/rtl-collectord.socket" "$dir/rtl-collectord.service" 2>&1) || status=$?
printf '%s\n' "$out"
if printf '%s\n' "$out" | grep -q "rtl-collectord\.\(service\|socket\):"; then
	exit 1
fi
exit "${status:-0}"

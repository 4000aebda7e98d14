#!/bin/sh
# SPDX-License-Identifier: MIT
# verify.sh SYSTEMD_ANALYZE SOURCE BINARY COLLECTORD: the units say only what systemd knows.
set -eu
analyze=$1 source=$2 binary=$3 collectord=$4
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# More than the collector takes, and it would not start.
limit=$(sed -n 's/^#define KEPT_RECORDERS_MAX[[:space:]]*\([0-9]*\)u$/\1/p' "$source/../proto/base/limits.h")
for unit in "$binary/rtl-collectord.service" "$binary/user/rtl-collectord.service"; do
	if ! grep -qx "FileDescriptorStoreMax=${limit:?}" "$unit"; then
		echo "verify.sh: FileDescriptorStoreMax is not KEPT_RECORDERS_MAX, $limit: $unit"
		exit 1
	fi
done

# The pages are not installed in a build tree, the user rtl need not exist here.
verify() {
	manager=$1 folder=$2
	mkdir "$dir/$manager"
	for unit in "$source/$folder/rtl-collectord.socket" "$binary/$folder/rtl-collectord.service"; do
		sed "s|^\(Exec[A-Za-z]*\)=[^ ]*/collectord|\1=$collectord|; /^Documentation=/d" \
			"$unit" >"$dir/$manager/${unit##*/}"
	done
	status=0
	out=$(XDG_RUNTIME_DIR="$dir" SYSTEMD_UNIT_PATH="$dir/$manager:" "$analyze" verify --man=no \
		"--$manager" "$dir/$manager/rtl-collectord.socket" \
		"$dir/$manager/rtl-collectord.service" 2>&1) || status=$?
	printf '%s\n' "$out"
	if printf '%s\n' "$out" | grep -q "rtl-collectord\.\(service\|socket\):"; then
		status=1
	fi
	[ "$status" -eq 0 ] || exit "$status"
}
verify system .
verify user user

#!/bin/sh
# SPDX-License-Identifier: MIT
# The files of softgpu-topology say what the thunk says: check_topology.sh PROGRAM
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
nodes=$dir/sys/class/kfd/kfd/topology/nodes

fail() {
	echo "FAIL: $*" >&2
	exit 1
}

# value FILE NAME: what a properties file has for it.
value() {
	awk -v name="$2" '$1 == name { print $2 }' "$nodes/$1"
}

expect() {
	[ "$(value "$1" "$2")" = "$3" ] || fail "$1: $2 is '$(value "$1" "$2")', not $3"
}

SOFTGPU_COUNT=3 SOFTGPU_GFX=gfx942,gfx90a "$1" "$dir/sys"
[ "$(find "$nodes" -mindepth 1 -maxdepth 1 | wc -l)" -eq 4 ] || fail "not a CPU and 3 GPUs"
[ "$(cat "$nodes/0/gpu_id")" = 0 ] || fail "the CPU has the number of a GPU"
[ "$(cat "$nodes/1/gpu_id" "$nodes/2/gpu_id" "$nodes/3/gpu_id" | sort -u | wc -l)" -eq 3 ] ||
	fail "two GPUs have one number"
expect 0/properties simd_count 0
expect 0/properties io_links_count 3
expect 0/properties gfx_target_version 0
expect 1/properties gfx_target_version 90402
expect 1/properties num_xcc 8
expect 1/properties num_sdma_xgmi_engines 14
expect 2/properties gfx_target_version 90010
expect 3/properties gfx_target_version 90402
[ "$(value 1/properties unique_id)" != "$(value 3/properties unique_id)" ] || fail "unique_id is not"
expect 1/io_links/0/properties node_to 0
expect 1/io_links/0/properties type 2
expect 1/io_links/2/properties node_to 3
expect 1/io_links/2/properties type 11
expect 2/io_links/1/properties recommended_sdma_engine_id_mask 12
[ ! -e "$nodes/1/io_links/3" ] || fail "a link to itself"
# What is there is never mixed with another topology.
if "$1" "$dir/sys" 2>"$dir/err"; then
	fail "wrote over what was there"
fi
grep -q "nodes: File exists" "$dir/err" || fail "not clear: $(cat "$dir/err")"

#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs what is missing from Debian's packages: `setup.sh demo` for building and the demo,
# `setup.sh test` for the tests as well. Says what it installs before it does; asks nothing.
# Does nothing, and needs neither root nor network, when all is there.
set -eu

build="gcc libc6-dev cmake ninja-build pkg-config libevent-dev libsqlite3-dev libprotobuf-c-dev
protobuf-c-compiler libhsa-runtime-dev libhsakmt-dev uthash-dev libiberty-dev libncurses-dev
libjansson-dev libxxhash-dev libacl1-dev libyajl-dev zlib1g-dev clang-15 lld-15 sqlite3"
checks="g++ libcmocka-dev bats jq tmux python3 python3-pandas python3-torch openmpi-bin mpich slurmctld slurmd slurm-client munge strace valgrind
chromium npm libamdhip64-dev libjemalloc2 libtcmalloc-minimal4 hipcc util-linux procps binutils acl musl-tools libc6-i386
clang-14 libclang-rt-14-dev systemd spin patchelf debootstrap debhelper lintian mandoc man-db bsdextrautils zsh yamllint environment-modules"

case "${1:-}" in
demo) wanted="$build" ;;
test) wanted="$build $checks" ;;
*)
	echo "usage: setup.sh demo|test" >&2
	exit 2
	;;
esac

missing=""
for package in $wanted; do
	# Other packages of node bring an npm of their own, and refuse Debian's beside it.
	[ "$package" = npm ] && command -v npm >/dev/null && continue
	dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' ||
		missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
	echo "setup: this needs Debian's apt-get; install by hand:$missing" >&2
	exit 1
fi
as_root=""
if [ "$(id -u)" -ne 0 ]; then
	if ! command -v sudo >/dev/null; then
		echo "setup: missing:$missing; run as root, or install sudo" >&2
		exit 1
	fi
	as_root=sudo
fi
echo "setup: installing Debian packages:$missing" >&2
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
install() {
	# shellcheck disable=SC2086 # a list of packages
	$as_root apt-get install -y --no-install-recommends $missing >"$log" 2>&1
}
# A machine whose package lists are fresh needs no update.
if ! install && ! { $as_root apt-get update >"$log" 2>&1 && install; }; then
	tail -n 20 "$log" >&2
	echo "setup: apt-get failed; the log is $log" >&2
	exit 1
fi
rm -f "$log"

#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What packages are made of; that they work, tests/packaging/run shows (./test.sh --long).
load lib.bash
bats_require_minimum_version 1.5.0
tree=$(cd "$here/../.." && pwd)

@test "a tag, commits after it and changes not committed give versions that dpkg sorts as they came" {
	local git=(git -c user.name=n -c user.email=e -c init.defaultBranch=main) versions=() version
	mkdir -p tree/packaging
	cp "$tree/packaging/version" tree/packaging
	cp "$tree/CMakeLists.txt" tree
	cd tree
	versions+=("$(packaging/version)") # no git
	"${git[@]}" init -q
	"${git[@]}" add .
	"${git[@]}" commit -qm one
	versions+=("$(packaging/version)")
	echo >>CMakeLists.txt
	versions+=("$(packaging/version)")
	"${git[@]}" commit -qam two
	"${git[@]}" tag -am 0.1.0 v0.1.0
	versions+=("$(packaging/version)")
	echo >>CMakeLists.txt
	"${git[@]}" commit -qam three
	versions+=("$(packaging/version)")
	[ "${versions[0]}" = 0.1.0~dev ]
	[[ ${versions[1]} =~ ^0\.1\.0~dev1\.g[0-9a-f]{7}$ ]]
	[ "${versions[2]}" = "${versions[1]}+dirty" ]
	[ "${versions[3]}" = 0.1.0 ]
	[[ ${versions[4]} =~ ^0\.1\.0\+1\.g[0-9a-f]{7}$ ]]
	for version in 1 2 3 4; do
		dpkg --compare-versions "${versions[version - 1]}" lt "${versions[version]}"
	done
}

@test "all that is installed is in a package, and a package lists nothing that is not installed" {
	local prefix file pattern missing=
	DESTDIR=$work/root cmake --install "$RTL_BUILD" >/dev/null
	prefix=$(sed -n 's/^CMAKE_INSTALL_PREFIX:PATH=//p' "$RTL_BUILD/CMakeCache.txt")
	cd "root$prefix"
	mkdir -p "$work/usr"
	mv ./* "$work/usr"
	cd "$work"
	# Debian's folder of libraries, and its folder of units.
	[ -d usr/lib/x86_64-linux-gnu ] || { mkdir usr/lib/x86_64-linux-gnu && mv usr/lib/librtl-* usr/lib/rtl usr/lib/x86_64-linux-gnu; }
	mkdir -p lib/systemd
	mv usr/lib/systemd/system lib/systemd
	while read -r pattern; do
		compgen -G "$pattern" >/dev/null || missing="$missing $pattern"
		compgen -G "$pattern" >>listed || true
	done < <(grep -hv '^#' "$tree"/packaging/debian/rtl.install "$tree"/packaging/debian/rtl-collectord.install)
	[ -z "$missing" ] || { echo "not installed:$missing"; false; }
	find usr lib ! -type d | while read -r file; do
		while read -r pattern; do
			[[ $file == "$pattern" || $file == "$pattern"/* ]] && continue 2
		done <listed
		echo "$file"
	done >unlisted
	[ ! -s unlisted ] || { cat unlisted; false; }
}

@test "maintainer scripts and those of packaging parse" {
	local file
	for file in "$tree"/packaging/debian/*.p* "$tree/packaging/version"; do
		sh -n "$file"
	done
	for file in "$tree/package.sh" "$tree"/tests/packaging/*; do
		bash -n "$file"
	done
}

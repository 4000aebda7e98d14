#!/bin/bash
# SPDX-License-Identifier: MIT
# Builds packages from this tree, with the changes that are not committed, into build/packages.
#
#   ./package.sh [deb]        rtl, rtl-collectord and rtl-demo for Debian 12 and later, with -dbgsym; lintian looks
#   ./package.sh tar          rtl-VERSION-linux-x86_64.tar.xz, to be unpacked anywhere, for glibc 2.31 and later
#
# The version is that of `git describe`; packaging/version says how. DEBFULLNAME and DEBEMAIL are the maintainer,
# git's user if they are not set. The tarball takes a root of Debian 11 (tests/packaging/root), so root makes it.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")"
tree=$PWD
output=$tree/build/packages

usage() {
	sed -n 's/^# \{0,1\}//; 3,9p' "$0"
}

die() {
	echo "package.sh: $*" >&2
	exit 1
}

# sources FOLDER: all that belongs to the tree.
sources() {
	rm -rf "$1"
	mkdir -p "$1"
	if [ -e .git ]; then
		git ls-files -z --cached --others --exclude-standard
	else
		find . -path ./build -prune -o ! -type d -print0
	fi | tar --null --no-recursion --ignore-failed-read -T - -cf - | tar -xf - -C "$1"
}

# said LOG COMMAND...: what COMMAND writes is of interest where it fails.
said() {
	local log=$1
	shift
	"$@" >"$log" 2>&1 || {
		tail -n 40 "$log"
		die "$1 failed; the log is $log"
	}
}

make_deb() {
	local work=$output/deb name email
	name=${DEBFULLNAME:-$(git config user.name 2>/dev/null || echo The rtl authors)}
	email=${DEBEMAIL:-$(git config user.email 2>/dev/null || echo "root@$(hostname -f)")}
	sources "$work/rtl"
	(
		cd "$work/rtl"
		mv packaging/debian debian
		sed -i "s/@MAINTAINER@/$name <$email>/" debian/control
		cat >debian/changelog <<-END
			rtl ($version) unstable; urgency=medium

			  * What changed is in the project's history.

			 -- $name <$email>  $(date -R)
		END
		rm -f ../*.deb ../*.buildinfo ../*.changes
		echo "package.sh: building $version; the log is $work/build.log" >&2
		said "$work/build.log" dpkg-buildpackage --build=binary --no-sign
	)
	lintian --fail-on error --allow-root "$work"/*.changes >"$work/lintian.log" 2>&1 ||
		{ cat "$work/lintian.log"; die "lintian finds errors"; }
	rm -f "$output"/*.deb
	mv "$work"/*.deb "$output"
	ls "$output"/*.deb
}

# newest_glibc FILE: the latest release of glibc that it asks for.
newest_glibc() {
	objdump -T "$1" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -Vu | tail -n 1
}

# sysroot FOLDER: the C library of Debian 11, as the linker takes it.
sysroot() {
	local root deb link
	root=$(tests/packaging/root bullseye)
	rm -rf "$1"
	mkdir -p "$1"
	for deb in "$root"/var/cache/apt/archives/{libc6,libc6-dev}_*.deb; do
		dpkg -x "$deb" "$1"
	done
	# A link to /lib would lead to the C library of this machine.
	find "$1" -type l -lname '/*' | while read -r link; do
		ln -sfr "$1$(readlink "$link")" "$link"
	done
}

make_tar() {
	local work=$output/tar name=rtl-$version-linux-x86_64 libraries=/usr/lib/x86_64-linux-gnu program needed library
	sources "$work/rtl"
	sysroot "$work/sysroot"
	mkdir -p "$work/archives"
	for library in acl attr iberty ncursesw tinfo; do
		ln -sf "$libraries/lib$library.a" "$work/archives"
	done
	echo "package.sh: building $version; the log is $work/build.log" >&2
	: >"$work/build.log"
	{
		cmake -S "$work/rtl" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DBUILD_TESTING=OFF \
			-DCMAKE_INSTALL_PREFIX=/ -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_INSTALL_DATAROOTDIR=share \
			-DRTL_VERSION="$version" -DCMAKE_PROJECT_rtl_INCLUDE="$tree/packaging/portable/portable.cmake" \
			-DPORTABLE_SYSROOT="$work/sysroot" -DPORTABLE_ARCHIVES="$work/archives" ${RTL_CMAKE_OPTIONS:-} &&
			cmake --build "$work/build" --target rtl collectord rtl_shim rtl_calls rtl_manual
	} >"$work/build.log" 2>&1 || { tail -n 40 "$work/build.log"; die "the build failed; the log is $work/build.log"; }
	sh tests/lint/shim_symbols.sh "$work/rtl" "$work/build"

	rm -rf "${work:?}/$name"
	mkdir -p "$work/$name"/{bin,lib,share}
	install -s "$work"/build/bin/{rtl,collectord} "$work/$name/bin"
	install -s -m 0644 "$work"/build/lib/librtl-{shim,calls}.so "$work/$name/lib"
	cp -a "$work/build/lib/rtl" "$work/$name/lib"
	cp -a "$work/build/docs/manual/pages" "$work/$name/share/man"
	mkdir -p "$work/$name"/share/{bash-completion/completions,zsh/site-functions,doc}
	mv "$work/$name/share/man/rtl.bash" "$work/$name/share/bash-completion/completions/rtl"
	mv "$work/$name/share/man/_rtl" "$work/$name/share/zsh/site-functions"
	cp -r "$work/rtl/docs" "$work/$name/share/doc/rtl"
	cp "$work"/rtl/{README.md,LICENSE} "$work/$name"
	# Licences of what is linked in.
	for library in libsqlite3-0 libjansson4 libevent-core-2.1-7 libprotobuf-c1 libacl1 libattr1 libncursesw6 libxxhash0; do
		mkdir -p "$work/$name/share/doc/licences"
		cp -L "/usr/share/doc/$library/copyright" "$work/$name/share/doc/licences/$library"
	done
	for program in rtl collectord; do
		needed=$(readelf -dW "$work/$name/bin/$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
		for library in $needed; do
			case $library in
			libc.so.6 | libm.so.6 | libdl.so.2 | libpthread.so.0 | librt.so.1 | ld-linux-x86-64.so.2) ;;
			*) die "$program needs $library" ;;
			esac
		done
		needed=$(newest_glibc "$work/$name/bin/$program")
		[ "$(printf '%s\n2.31\n' "$needed" | sort -V | tail -n 1)" = 2.31 ] || die "$program asks for glibc $needed"
	done
	rm -f "$output"/rtl-*-linux-x86_64.tar.xz
	tar -C "$work" --owner=0 --group=0 -cf - "$name" | xz -T2 >"$output/$name.tar.xz.new"
	mv "$output/$name.tar.xz.new" "$output/$name.tar.xz"
	ls "$output/$name.tar.xz"
}

case "${1:-deb}" in
deb | tar) what=${1:-deb} ;;
-h | --help)
	usage
	exit
	;;
*)
	usage >&2
	exit 2
	;;
esac
version=$(packaging/version)
mkdir -p "$output"
"make_$what"

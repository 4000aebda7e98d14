#!/bin/bash
# SPDX-License-Identifier: MIT
# Builds packages from this tree, with the changes that are not committed, into build/packages.
#
#   ./package.sh [deb]        rtl, rtl-collectord and rtl-demo for Debian 12 and later, with -dbgsym; lintian looks
#
# The version is that of `git describe`; packaging/version says how. DEBFULLNAME and DEBEMAIL are the maintainer,
# git's user if they are not set.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")"
tree=$PWD
output=$tree/build/packages

usage() {
	sed -n 's/^# \{0,1\}//; 3,8p' "$0"
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

case "${1:-deb}" in
deb) what=deb ;;
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

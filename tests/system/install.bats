#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# `cmake --install` into a DESTDIR puts all where distributions expect it, and it works there.
load lib.bash
bats_require_minimum_version 1.5.0

@test "the installed files, and a run with them" {
	DESTDIR=$work/root cmake --install "$RTL_BUILD" >/dev/null
	local prefix
	prefix=$(sed -n 's/^CMAKE_INSTALL_PREFIX:PATH=//p' "$RTL_BUILD/CMakeCache.txt")
	cd "root$prefix"
	test -x bin/rtl
	test -x bin/collectord
	bin/collectord --version | grep -q '^collectord [0-9]'
	bin/rtl --version | grep -q '^rtl [0-9]'
	test -f lib/librtl-shim.so || test -f lib/*-linux-gnu/librtl-shim.so
	test -f lib/systemd/system/rtl-collectord.socket
	grep -q "^ExecStart=$prefix/bin/collectord" lib/systemd/system/rtl-collectord.service
	test -f lib/sysusers.d/rtl.conf
	test -f lib/tmpfiles.d/rtl.conf
	# What README and the units point to.
	local page
	for page in $(grep -o '](\(docs/\)*[A-Za-z0-9_/.-]*)' share/doc/rtl/README.md | tr -d ']()') \
		$(sed -n "s|^Documentation=file:$prefix/share/doc/rtl/||p" lib/systemd/*/rtl-collectord.service); do
		test -e "share/doc/rtl/$page"
	done
	[ -n "$page" ]
	run -1 grep -r '^Documentation=man:' lib/systemd
	# Nothing of the tests, nothing elsewhere.
	run -0 find . ! -path './share/doc/*' \( -name '*softgpu*' -o -name '*demo*' -o -name '*.a' -o -name '*faults*' \)
	[ -z "$output" ]
	# The software GPU is not there, and not proposed.
	run bin/rtl doctor
	[[ $output != *"--device soft"* ]]
	run -125 bin/rtl run --device soft true
	[[ $output == "rtl: software GPU: "*": not found; only a build has it: set RTL_LIBDIR to its folder lib" ]]
	RTL_LIBDIR=$libdir run -0 bin/rtl run -q --device soft -o "$work/soft.db" true
	cd "$work"
	# It finds its parts by where it stands; the device is the test's own.
	export LD_LIBRARY_PATH=$libdir/softgpu
	"root$prefix/bin/rtl" run -o t.db -- "$demo" --ranks 2 --steps 3 >out 2>err || { cat err; false; }
	[ "$(told out)" = "$(stored t.db)" ]
	accounted t.db
}

#!/bin/sh
# SPDX-License-Identifier: MIT
# Comments, messages and names of the product call a thread, a process, a connection and a file by its name: no
# "whoever", no "nobody". Only a user or an owner may be "who".
# usage: words.sh SOURCE_DIR
set -eu
cd "$1"
list=$(find shim collectord cli proto -name '*.[ch]')
[ -n "$list" ]
if ! echo "$list" | xargs awk '
	FNR == 1 { before = "" }
	{
		count = split($0, words, /[^A-Za-z0-9_]+/)
		for (i = 1; i <= count; i++) {
			word = tolower(words[i])
			if (word == "")
				continue
			if (word ~ /^(whoever|whom|(no|some|every|any)body|(some|every|any)one)$/ ||
					(word == "who" && before !~ /^(users?|owners?)$/)) {
				print FILENAME ":" FNR ": " word ": " $0
				bad = 1
			}
			before = word
		}
	}
	END { exit bad }'; then
	echo "lint.words: name the thread, process, connection or caller that is meant" >&2
	exit 1
fi

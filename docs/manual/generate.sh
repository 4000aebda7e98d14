#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes manual pages and completions of what the programs themselves say.
# usage: generate.sh RTL COLLECTORD SCHEMA_PAGE FOLDER [DEMO]
set -eu
rtl=$1 collectord=$2 schema=$3 folder=$4 demo=${5:-}
here=$(cd "$(dirname "$0")" && pwd)
export LC_ALL=C ARGP_HELP_FMT=rmargin=5000
version=$("$rtl" --version | sed 's/^rtl //')
date=$(date -u -d "@${SOURCE_DATE_EPOCH:-$(date +%s)}" +%Y-%m-%d)
rm -rf "$folder"
mkdir -p "$folder/man1" "$folder/man5" "$folder/man8"

# Name and summary of each verb: "  name        summary" of rtl without a verb, which is a mistake of usage.
"$rtl" >"$folder/verbs" || [ $? -eq 2 ]
sed -n 's/^  \([a-z]*\)  *\(.*\)/\1 \2/p' "$folder/verbs" >"$folder/verbs.new"
mv "$folder/verbs.new" "$folder/verbs"
[ -s "$folder/verbs" ]

page() {
	awk -f "$here/manual.awk" -v name="$1" -v section="$2" -v date="$date" -v version="$version" -v summary="$3" -v see="$4"
}

all=
while read -r verb summary; do
	all="$all rtl-$verb 1"
	[ "$verb" != help ] || continue
	"$rtl" "$verb" --help | page "rtl-$verb" 1 "$summary" "rtl 1 rtl-database 5" >"$folder/man1/rtl-$verb.1"
	{ echo "VERB $verb $summary" && "$rtl" "$verb" --help; } >>"$folder/options"
	[ "$verb" != run ] || { echo "VERB trace $summary" && "$rtl" "$verb" --help; } >>"$folder/options"
done <"$folder/verbs"
echo "VERB help this list, or what a verb says to --help" >>"$folder/options"
all=$(echo "$all" | sed 's/ rtl-help 1//')
{
	echo "Usage: rtl VERB [OPTION...] [ARGUMENT...]"
	echo "A profiler for AMD GPU jobs: it timestamps every kernel of every rank, into one SQLite database."
	"$rtl" --help
} | awk -f "$here/verbs.awk" -v date="$date" -v version="$version" -v see="$all collectord 8 rtl-database 5" >"$folder/man1/rtl.1"
"$collectord" --help | page collectord 8 "collects what the jobs of a node record" "rtl 1 systemd.exec 5" \
	>"$folder/man8/collectord.8"
if [ -n "$demo" ]; then
	mkdir -p "$folder/demo/man1"
	"$demo" --help | page rtl-demo 1 "a training loop of several ranks, to try a profiler on" "rtl 1 rtl-run 1" \
		>"$folder/demo/man1/rtl-demo.1"
fi
awk -f "$here/markdown.awk" -v name=rtl-database -v section=5 -v date="$date" -v version="$version" \
	-v summary="tables and views of a recorded job" -v see="rtl 1 rtl-query 1 sqlite3 1" "$schema" \
	>"$folder/man5/rtl-database.5"
awk -f "$here/completion.awk" -v shell=bash "$folder/options" >"$folder/rtl.bash"
awk -f "$here/completion.awk" -v shell=zsh "$folder/options" >"$folder/_rtl"
rm "$folder/verbs" "$folder/options"
